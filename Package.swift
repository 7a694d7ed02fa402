// swift-tools-version: 6.1
import PackageDescription

let package = Package(
  name: "Scheduler",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .library(name: "Scheduler", targets: ["Scheduler"]),
    .library(name: "SchedulerMainLoop", targets: ["SchedulerMainLoop"]),
    .library(name: "CScheduler", targets: ["CScheduler"]),
  ],
  targets: [
    // libbsd's headers are used by name (<bsd/sys/tree.h>); pkg-config supplies -lbsd.
    .systemLibrary(name: "CBSD", pkgConfig: "libbsd", providers: [.apt(["libbsd-dev"])]),

    .target(name: "CScheduler", dependencies: [.target(name: "CBSD", condition: .when(platforms: [.linux]))]),
    .target(name: "Scheduler", dependencies: ["CScheduler"]),
    // Apart from Scheduler, because it brings Dispatch along.
    .target(name: "SchedulerMainLoop", dependencies: ["Scheduler"]),

    .target(name: "CTestSupport", dependencies: ["CScheduler"], path: "Tests/Support/CTestSupport"),
    .target(name: "CTestAllocations", path: "Tests/Support/CTestAllocations"),
    .target(name: "TestSupport", dependencies: ["CTestSupport", "Scheduler"], path: "Tests/Support/TestSupport"),
    .testTarget(name: "CSchedulerTests", dependencies: ["CScheduler", "TestSupport"]),
    .testTarget(name: "SchedulerTests", dependencies: ["Scheduler", "TestSupport", "CTestAllocations"]),
  ],
  swiftLanguageModes: [.v6],
  cLanguageStandard: .c11
)
