// swift-tools-version: 6.1
import PackageDescription

// A package of its own: users of Scheduler do not fetch swift-service-lifecycle.
let package = Package(
  name: "Services",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "Scheduler", path: "../.."),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.6.0"),
    .package(url: "https://github.com/apple/swift-async-algorithms", from: "1.0.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
  ],
  targets: [
    .target(
      name: "SchedulerServices",
      dependencies: [
        .product(name: "Scheduler", package: "Scheduler"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
      ]),
    .testTarget(
      name: "SchedulerServicesTests",
      dependencies: [
        "SchedulerServices",
        .product(name: "SchedulerTesting", package: "Scheduler"),
        .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
