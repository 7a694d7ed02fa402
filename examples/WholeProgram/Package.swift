// swift-tools-version: 6.1
import PackageDescription

let package = Package(
  name: "WholeProgram",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "Scheduler", path: "../..")],
  targets: [
    .executableTarget(
      name: "WholeProgram",
      dependencies: [
        .product(name: "Scheduler", package: "Scheduler"),
        // This line puts all tasks on the pool, and the main actor on the main loop.
        .product(name: "SchedulerExecutorsLinked", package: "Scheduler"),
      ])
  ],
  swiftLanguageModes: [.v6]
)
