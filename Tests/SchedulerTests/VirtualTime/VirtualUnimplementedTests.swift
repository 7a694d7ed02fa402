import Scheduler
import SchedulerRx
import SchedulerTesting
import TestSupport
import Testing

@Suite(.nothingIsLeft) struct VirtualUnimplementedTests {
  @Test("every use is reported once, with the prefix, the call and a remedy")
  func reports() {
    let log = Log<String>(), ran = Counter()
    let scheduler = UnimplementedScheduler(prefix: "Model") { log.add($0) }
    _ = scheduler.now
    scheduler.schedule { ran.increment() }
    scheduler.schedule(1) { _ in
      ran.increment()
      return Disposables.create()
    }
    scheduler.schedule(after: .seconds(1)) { ran.increment() }
    let token = scheduler.schedule(1, after: .seconds(2)) { _ in
      ran.increment()
      return Disposables.create()
    }
    token.dispose()
    #expect(ran.value == 0)
    #expect(log.entries.count == 5)
    #expect(log.entries.allSatisfy { $0.hasPrefix("Model: ") && $0.contains("TestScheduler") })
    let called = ["now", "schedule(_:)", "schedule(_:)", "schedule(_:_:), after 1.0", "schedule(_:_:), after 2.0"]
    for (entry, call) in zip(log.entries, called) { #expect(entry.hasPrefix("Model: \(call)")) }
  }

  /// Extension methods over the requirements, with the expected report of each.
  private static let uses: [(name: String, use: @Sendable (any SchedulerType) -> Void)] = [
    ("schedule(_:_:), at 7 ns", { $0.schedule(.at(MonotonicTime(nanoseconds: 7))) {} }),
    (
      "schedule(_:_:), at 7 ns since 1970, tolerance 1.0 seconds",
      { $0.schedule(.at(wall: WallTime(nanosecondsSince1970: 7), tolerance: .seconds(1))) {} }
    ),
    ("schedule(_:_:), at ", { $0.schedule(.at(continuous: .now)) {} }),
    ("schedule(_:_:), every 1.0 seconds, first after 1.0 seconds", { $0.schedule(.every(.seconds(1))) {} }),
    ("schedule(_:)", { $0.schedule({}, onDrop: { _ in }) }),
    ("schedule(_:_:), after 1.0 seconds", { $0.schedule(after: .seconds(1), {}, onDrop: { _ in }) }),
    ("schedule(_:)", { $0.scheduleRecursive(1) { _, _ in } }), ("schedule(_:)", { $0.scheduleRecursive { _ in } }),
    ("schedule(_:)", { $0.schedule { (_: ActionContext) in } }),
  ]

  @Test(
    "an extension method over the requirements is reported once, under its own type or any other",
    arguments: [false, true])
  func names(isGeneric: Bool) {
    for (name, use) in Self.uses {
      let log = Log<String>(), unimplemented = UnimplementedScheduler { log.add($0) }
      func generic(_ scheduler: some SchedulerType) { use(scheduler) }
      if isGeneric { generic(unimplemented) } else { use(unimplemented) }
      #expect(log.entries.count == 1)
      #expect(log.entries.first?.hasPrefix(name) == true, "\(log.entries) for \(name)")
    }
  }

  @Test("without a prefix the message begins with the call, and no action is kept")
  func noPrefix() {
    let log = Log<String>(), scheduler = UnimplementedScheduler { log.add($0) }
    weak var seen: Token?
    do {
      let capture = Token()
      seen = capture
      scheduler.schedule { [capture] in _ = capture }
    }
    #expect(seen == nil)
    #expect(log.entries.first?.hasPrefix("schedule(_:) was called on an UnimplementedScheduler") == true)
  }

  @Test("by default a use stops the process with the message")
  func stops() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      UnimplementedScheduler(prefix: "Model").schedule {}
    }
    expectMessage(result, "Scheduler: UnimplementedScheduler: Model: schedule(_:) was called", "TestScheduler")
  }
}
