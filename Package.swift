// swift-tools-version: 6.2
import PackageDescription

let openCombine = Target.Dependency.product(
  name: "OpenCombine", package: "OpenCombine", condition: .when(traits: ["Combine"]))

let package = Package(
  name: "Scheduler",
  // What the Synchronization module and task executors need; in C os_sync_wait_on_address would do with macOS 14.4.
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .library(name: "Scheduler", targets: ["Scheduler"]),
    .library(name: "SchedulerRx", targets: ["SchedulerRx"]),
    .library(name: "SchedulerDispatch", targets: ["SchedulerDispatch"]),
    .library(name: "SchedulerFoundation", targets: ["SchedulerFoundation"]),
    .library(name: "SchedulerRxFoundation", targets: ["SchedulerRxFoundation"]),
    .library(name: "SchedulerExecutors", targets: ["SchedulerExecutors"]),
    .library(name: "SchedulerExecutorsLinked", targets: ["SchedulerExecutorsLinked"]),
    .library(name: "SchedulerTesting", targets: ["SchedulerTesting"]),
    .library(name: "SchedulerVirtualTime", targets: ["SchedulerVirtualTime"]),
    .library(name: "SchedulerTestSupport", targets: ["SchedulerTestSupport"]),
    .library(name: "SchedulerCombine", targets: ["SchedulerCombine"]),
    .library(name: "CScheduler", targets: ["CScheduler"]),
  ],
  traits: [.trait(name: "Combine", description: "SchedulerCombine, which brings OpenCombine along.")],
  dependencies: [.package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0")],
  targets: [
    // libbsd's headers, by name (<bsd/sys/tree.h>); nothing of it is linked.
    .systemLibrary(name: "CBSD"),

    .target(name: "CScheduler", dependencies: [.target(name: "CBSD", condition: .when(platforms: [.linux]))]),
    .target(name: "Scheduler", dependencies: ["CScheduler"]),
    // The names of RxSwift, ReactiveSwift and others, and of this library's past.
    .target(name: "SchedulerRx", dependencies: ["Scheduler"]),
    // Apart from Scheduler, because it brings Dispatch along.
    .target(name: "SchedulerDispatch", dependencies: ["Scheduler"]),
    // Apart from Scheduler, because it brings Foundation along.
    .target(name: "SchedulerFoundation", dependencies: ["Scheduler"]),
    // RxSwift's names with the types of Foundation and Dispatch. Apart, so that each of the others brings one thing.
    .target(
      name: "SchedulerRxFoundation",
      dependencies: ["Scheduler", "SchedulerRx", "SchedulerFoundation", "SchedulerDispatch"]),
    // All tasks of a program on this core: by a call, or by being linked, which needs a constructor in C.
    .target(name: "SchedulerExecutors", dependencies: ["Scheduler", "CSchedulerExecutors"]),
    .target(name: "CSchedulerExecutors", dependencies: ["CScheduler"]),
    .target(name: "SchedulerExecutorsLinked", dependencies: ["SchedulerExecutors"]),
    // Schedulers for tests. Pure Swift, so that an app may have one of them as a default.
    .target(name: "SchedulerTesting", dependencies: ["Scheduler"]),
    // Virtual time for tasks. Apart from Scheduler, because it puts itself before Swift's own executors, which needs a constructor in C.
    .target(name: "SchedulerVirtualTime", dependencies: ["Scheduler", "CScheduler", "CSchedulerVirtualTime"]),
    .target(name: "CSchedulerVirtualTime"),
    // Virtual time as a trait of swift-testing and as a base of XCTest. Apart from SchedulerVirtualTime, because it brings both along.
    .target(name: "SchedulerTestSupport", dependencies: ["SchedulerVirtualTime"]),
    // Empty without the trait, so that nobody fetches OpenCombine who does not ask for it.
    .target(name: "SchedulerCombine", dependencies: ["Scheduler", openCombine]),

    .target(name: "CTestSupport", dependencies: ["CScheduler"], path: "Tests/Support/CTestSupport"),
    // The tests of the C core, a program; CSchedulerTests runs it.
    .executableTarget(
      name: "ctests", dependencies: ["CScheduler", "CTestSupport", "CTestAllocations"], path: "Tests/CTests"),
    .target(name: "CTestAllocations", path: "Tests/Support/CTestAllocations"),
    .target(name: "TestSupport", dependencies: ["CTestSupport", "Scheduler"], path: "Tests/Support/TestSupport"),
    .testTarget(
      name: "CSchedulerTests", dependencies: ["CScheduler", "CTestSupport", "Scheduler", "TestSupport"]),
    .testTarget(
      name: "SchedulerTests",
      dependencies: [
        "Scheduler", "SchedulerRx", "SchedulerTesting", "SchedulerFoundation", "SchedulerDispatch",
        "SchedulerRxFoundation", "TestSupport", "CTestAllocations", "CTestSupport",
      ],
      // In release the library is optimised. To optimise its tests as well would take four minutes more.
      swiftSettings: [.unsafeFlags(["-Onone"], .when(configuration: .release))]),
    .testTarget(name: "SchedulerExecutorsTests", dependencies: ["SchedulerExecutors", "TestSupport"]),
    // Examples that the tests run.
    .target(name: "Streams", dependencies: ["SchedulerCombine", openCombine], path: "examples/Streams"),
    .testTarget(
      name: "SchedulerCombineTests",
      dependencies: [
        "SchedulerCombine", "SchedulerRx", "SchedulerTesting", "Streams", "TestSupport", "CTestSupport", openCombine,
      ]),
    .testTarget(
      name: "SchedulerVirtualTimeTests", dependencies: ["SchedulerVirtualTime", "SchedulerTestSupport", "TestSupport"]),
  ],
  swiftLanguageModes: [.v6],
  cLanguageStandard: .c11
)
