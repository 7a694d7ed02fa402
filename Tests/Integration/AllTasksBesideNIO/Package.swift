// swift-tools-version: 6.1
import PackageDescription

let package = Package(
  name: "AllTasksBesideNIO",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "Scheduler", path: "../../.."),
    .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
  ],
  targets: [
    .executableTarget(
      name: "AllTasksBesideNIO",
      dependencies: [
        .product(name: "Scheduler", package: "Scheduler"), .product(name: "SchedulerExecutors", package: "Scheduler"),
        .product(name: "SchedulerExecutorsLinked", package: "Scheduler"),
        .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
      ])
  ],
  swiftLanguageModes: [.v6]
)
