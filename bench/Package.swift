// swift-tools-version: 6.1
import PackageDescription

let package = Package(
  name: "bench",
  platforms: [.macOS(.v15)],
  products: [
    .executable(name: "bench", targets: ["bench"]),
    // What tasks cost, on Swift's own executors or on ours: a program of its own, because a program has one kind.
    .executable(name: "tasks", targets: ["tasks"]),
    // What a program needs from main to its first action: rows U3 to U5.
    .executable(name: "startScheduler", targets: ["startScheduler"]),
    .executable(name: "startDispatch", targets: ["startDispatch"]),
    // Preloaded where calls are counted, so that no process that takes the time has a counter in it.
    .library(name: "BenchCounts", type: .dynamic, targets: ["CCounts"]),
  ],
  dependencies: [
    // By a link to the folder above: SwiftPM knows a package by its folder's name, and a clone may be called anything,
    // also "bench".
    .package(name: "Scheduler", path: ".."),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
    .package(url: "https://github.com/ordo-one/TextTable", from: "0.0.2"),
  ],
  targets: [
    // The kernels in C: the limits of the machine, and the harness of what is compared in C.
    .target(name: "CBench", dependencies: [.product(name: "CScheduler", package: "Scheduler")]),
    .target(name: "CCounts"),
    // How a row is measured, judged, written down and compared; knows no scheduler.
    .target(name: "BenchKit", dependencies: [.product(name: "TextTable", package: "TextTable")]),
    .executableTarget(
      name: "bench",
      dependencies: [
        "BenchKit", "CBench",
        .product(name: "Scheduler", package: "Scheduler"), .product(name: "SchedulerRx", package: "Scheduler"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
      ]),
    .executableTarget(
      name: "tasks",
      dependencies: [
        .product(name: "Scheduler", package: "Scheduler"), .product(name: "SchedulerExecutors", package: "Scheduler"),
      ]),
    .target(name: "CStart"),
    .executableTarget(
      name: "startScheduler", dependencies: ["CStart", .product(name: "Scheduler", package: "Scheduler")]),
    .executableTarget(name: "startDispatch", dependencies: ["CStart"]),
    .testTarget(name: "BenchKitTests", dependencies: ["BenchKit"]),
  ],
  swiftLanguageModes: [.v6]
)
