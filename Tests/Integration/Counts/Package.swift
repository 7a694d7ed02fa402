// swift-tools-version: 6.1
import PackageDescription

// By a link, because a path's last part is the package's name to SwiftPM, and a clone may be called anything: see
// Tools/counts.
let package = Package(
  name: "CountedPaths",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "Scheduler", path: "../../Scheduler")],
  targets: [
    .executableTarget(
      name: "CountedPaths",
      dependencies: [
        .product(name: "Scheduler", package: "Scheduler"), .product(name: "SchedulerRx", package: "Scheduler"),
      ],
      swiftSettings: [.swiftLanguageMode(.v6)])
  ]
)
