// swift-tools-version: 6.1
import PackageDescription

let package = Package(
  name: "EndsClean",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "Scheduler", path: "../../..")],
  targets: [
    .executableTarget(name: "EndsClean", dependencies: [.product(name: "Scheduler", package: "Scheduler")])
  ],
  swiftLanguageModes: [.v6]
)
