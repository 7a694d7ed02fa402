// swift-tools-version: 6.1
import PackageDescription

let package = Package(
  name: "SearchAsYouType",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "Scheduler", path: "../..")],
  targets: [
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .target(
      name: "SearchField",
      dependencies: [
        .product(name: "Scheduler", package: "Scheduler"), .product(name: "SchedulerRx", package: "Scheduler"),
      ]),
    .executableTarget(name: "SearchAsYouType", dependencies: ["CSQLite", "SearchField"]),
    .testTarget(name: "SearchFieldTests", dependencies: ["SearchField"]),
  ],
  swiftLanguageModes: [.v6]
)
