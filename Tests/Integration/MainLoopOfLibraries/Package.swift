// swift-tools-version: 6.1
import PackageDescription

let package = Package(
  name: "MainLoopOfLibraries",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "Scheduler", path: "../../..")],
  targets: [
    .systemLibrary(name: "CGLib", pkgConfig: "glib-2.0", providers: [.apt(["libglib2.0-dev"])]),
    .systemLibrary(name: "CUV", pkgConfig: "libuv", providers: [.apt(["libuv1-dev"])]),
    .executableTarget(
      name: "MainLoopOfLibraries", dependencies: ["CGLib", "CUV", .product(name: "Scheduler", package: "Scheduler")]),
  ],
  swiftLanguageModes: [.v6]
)
