// swift-tools-version: 6.1
import PackageDescription

let scheduler = Target.Dependency.product(name: "Scheduler", package: "Scheduler")
let executors = Target.Dependency.product(name: "SchedulerExecutors", package: "Scheduler")

let package = Package(
  name: "AllTasks",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "Scheduler", path: "../../..")],
  targets: [
    // What tasks do, on whatever executors the program has.
    .target(name: "Cases", dependencies: [scheduler]),
    // The executors are there because they are linked; it compares with the next.
    .executableTarget(
      name: "AllTasks",
      dependencies: [
        "Cases", executors, .product(name: "SchedulerExecutorsLinked", package: "Scheduler"),
        .product(name: "CScheduler", package: "Scheduler"),
      ]),
    .executableTarget(name: "AllTasksOnDefault", dependencies: ["Cases"]),
    // This package requests them.
    .executableTarget(
      name: "AllTasksInstalled",
      dependencies: ["Cases", executors, .product(name: "SchedulerDispatch", package: "Scheduler")]),
    // They are there because they are linked, into a program whose main is a test runner's.
    .testTarget(
      name: "RunnerTests",
      dependencies: [scheduler, executors, .product(name: "SchedulerExecutorsLinked", package: "Scheduler")]),
  ],
  swiftLanguageModes: [.v6]
)
