// swift-tools-version: 6.1
import PackageDescription

// A package of its own: users of Scheduler do not fetch swift-metrics, swift-log and swift-distributed-tracing.
let package = Package(
  name: "Observing",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "Scheduler", path: "../.."),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
    .package(url: "https://github.com/apple/swift-service-context", from: "1.5.1"),
  ],
  targets: [
    .target(
      name: "Bridges",
      dependencies: [
        .product(name: "Scheduler", package: "Scheduler"),
        .product(name: "Metrics", package: "swift-metrics"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "Tracing", package: "swift-distributed-tracing"),
        .product(name: "ServiceContextModule", package: "swift-service-context"),
      ]),
    .executableTarget(
      name: "Observing",
      dependencies: [
        "Bridges",
        .product(name: "MetricsTestKit", package: "swift-metrics"),
        .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
      ]),
    .testTarget(
      name: "BridgesTests",
      dependencies: [
        "Bridges",
        .product(name: "SchedulerRx", package: "Scheduler"),
        .product(name: "MetricsTestKit", package: "swift-metrics"),
        .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
