// swift-tools-version: 6.1
import PackageDescription

let package = Package(
  name: "DependsOnCScheduler",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "Scheduler", path: "../../..")],
  targets: [
    .executableTarget(name: "DependsOnCScheduler", dependencies: [.product(name: "CScheduler", package: "Scheduler")])
  ],
  swiftLanguageModes: [.v6]
)
