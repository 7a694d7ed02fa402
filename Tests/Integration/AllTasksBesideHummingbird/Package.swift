// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "AllTasksBesideHummingbird",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "Scheduler", path: "../../.."),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.6.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.14.0"),
  ],
  targets: [
    .executableTarget(
      name: "AllTasksBesideHummingbird",
      dependencies: [
        .product(name: "Scheduler", package: "Scheduler"), .product(name: "SchedulerExecutors", package: "Scheduler"),
        .product(name: "SchedulerExecutorsLinked", package: "Scheduler"),
        .product(name: "Hummingbird", package: "hummingbird"), .product(name: "Logging", package: "swift-log"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
      ])
  ],
  swiftLanguageModes: [.v6]
)
