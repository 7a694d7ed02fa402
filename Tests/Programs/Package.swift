// swift-tools-version: 6.1
import PackageDescription

// Programs by lot over the Swift API. Those over the C API need no package: Tools/programs builds both.
let package = Package(
  name: "Programs",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "Scheduler", path: "../..")],
  targets: [
    .target(name: "Grammar", path: "Grammar"),
    .executableTarget(
      name: "SwiftPrograms",
      dependencies: [
        "Grammar", .product(name: "Scheduler", package: "Scheduler"),
        .product(name: "SchedulerVirtualTime", package: "Scheduler"),
      ], path: "Swift"),
  ],
  swiftLanguageModes: [.v6]
)
