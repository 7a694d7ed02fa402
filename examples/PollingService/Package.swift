// swift-tools-version: 6.1
import PackageDescription

let package = Package(
  name: "PollingService",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "Scheduler", path: "../..")],
  targets: [
    .executableTarget(name: "PollingService", dependencies: [.product(name: "Scheduler", package: "Scheduler")])
  ],
  swiftLanguageModes: [.v6]
)
