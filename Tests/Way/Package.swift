// swift-tools-version: 6.1
import PackageDescription

// By a link, because a path's last part is the package's name to SwiftPM, and a clone may be called anything: see Tools/way.
let package = Package(
  name: "Way",
  platforms: [.macOS(.v15)],
  dependencies: [.package(path: "../Scheduler")],
  targets: [
    .executableTarget(
      name: "Way", dependencies: [.product(name: "Scheduler", package: "Scheduler")],
      swiftSettings: [.swiftLanguageMode(.v6)])
  ]
)
