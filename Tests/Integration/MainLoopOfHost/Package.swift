// swift-tools-version: 6.1
import PackageDescription

let package = Package(
  name: "MainLoopOfHost",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "Scheduler", path: "../../..")],
  targets: [
    .executableTarget(
      name: "MainLoopOfHost",
      dependencies: [
        .product(name: "Scheduler", package: "Scheduler"), .product(name: "SchedulerRx", package: "Scheduler"),
        .product(name: "SchedulerDispatch", package: "Scheduler"),
      ])
  ],
  swiftLanguageModes: [.v6]
)
