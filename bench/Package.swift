// swift-tools-version: 6.1
import PackageDescription

let package = Package(
  name: "bench",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "Scheduler", path: ".."),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
    .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.1.0"),
    .package(url: "https://github.com/ordo-one/TextTable", from: "0.0.2"),
  ],
  targets: [
    // The kernels in C: the limits of the machine, and what is compared in C.
    .target(name: "CBench", dependencies: [.product(name: "CScheduler", package: "Scheduler")]),
    .executableTarget(
      name: "bench",
      dependencies: [
        "CBench",
        .product(name: "Scheduler", package: "Scheduler"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Histogram", package: "hdrhistogram-swift"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
        .product(name: "TextTable", package: "TextTable"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
