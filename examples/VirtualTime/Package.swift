// swift-tools-version: 6.1
import PackageDescription

// A package of its own: users of Scheduler do not fetch swift-async-algorithms.
let package = Package(
  name: "VirtualTime",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "Scheduler", path: "../.."),
    .package(url: "https://github.com/apple/swift-async-algorithms", from: "1.0.0"),
  ],
  targets: [
    .target(name: "Suggestions", dependencies: [.product(name: "AsyncAlgorithms", package: "swift-async-algorithms")]),
    .testTarget(
      name: "VirtualTimeTests",
      dependencies: [
        "Suggestions", .product(name: "SchedulerVirtualTime", package: "Scheduler"),
        .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
