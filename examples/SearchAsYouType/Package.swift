// swift-tools-version: 6.1
import PackageDescription

let package = Package(
  name: "SearchAsYouType",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "Scheduler", path: "../..")],
  targets: [
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .executableTarget(
      name: "SearchAsYouType", dependencies: ["CSQLite", .product(name: "Scheduler", package: "Scheduler")]),
  ],
  swiftLanguageModes: [.v6]
)
