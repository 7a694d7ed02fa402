// swift-tools-version: 6.1
import PackageDescription

let openCombine = Target.Dependency.product(
  name: "OpenCombine", package: "OpenCombine", condition: .when(traits: ["Combine"]))

// The files that Tools/release-tests has no use for, which would take half of its time to compile.
let unusedTests = (Context.environment["SCHEDULER_UNUSED_TESTS"] ?? "").split(separator: ":").map(String.init)
func unused(in target: String) -> [String] {
  unusedTests.filter { $0.hasPrefix(target + "/") }.map { String($0.dropFirst(target.count + 1)) }
}

let package = Package(
  name: "Scheduler",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .library(name: "Scheduler", targets: ["Scheduler"]),
    .library(name: "SchedulerMainLoop", targets: ["SchedulerMainLoop"]),
    .library(name: "SchedulerCombine", targets: ["SchedulerCombine"]),
    .library(name: "CScheduler", targets: ["CScheduler"]),
  ],
  traits: [.trait(name: "Combine", description: "SchedulerCombine, which brings OpenCombine along.")],
  dependencies: [.package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0")],
  targets: [
    // libbsd's headers are used by name (<bsd/sys/tree.h>); pkg-config supplies -lbsd.
    .systemLibrary(name: "CBSD", pkgConfig: "libbsd", providers: [.apt(["libbsd-dev"])]),

    .target(name: "CScheduler", dependencies: [.target(name: "CBSD", condition: .when(platforms: [.linux]))]),
    .target(name: "Scheduler", dependencies: ["CScheduler"]),
    // Apart from Scheduler, because it brings Dispatch along.
    .target(name: "SchedulerMainLoop", dependencies: ["Scheduler"]),
    // Empty without the trait, so that nobody fetches OpenCombine who does not ask for it.
    .target(name: "SchedulerCombine", dependencies: ["Scheduler", openCombine]),

    .target(name: "CTestSupport", dependencies: ["CScheduler"], path: "Tests/Support/CTestSupport"),
    .target(name: "CTests", dependencies: ["CScheduler", "CTestSupport"], path: "Tests/CTests"),
    .target(name: "CTestAllocations", path: "Tests/Support/CTestAllocations"),
    .target(name: "TestSupport", dependencies: ["CTestSupport", "Scheduler"], path: "Tests/Support/TestSupport"),
    .testTarget(
      name: "CSchedulerTests", dependencies: ["CScheduler", "CTests", "TestSupport", "CTestAllocations"],
      exclude: unused(in: "CSchedulerTests")),
    .testTarget(
      name: "SchedulerTests", dependencies: ["Scheduler", "TestSupport", "CTestAllocations", "CTestSupport", "CTests"],
      exclude: unused(in: "SchedulerTests")),
    .testTarget(name: "SchedulerCombineTests", dependencies: ["SchedulerCombine", "TestSupport", openCombine]),
  ],
  swiftLanguageModes: [.v6],
  cLanguageStandard: .c11
)
