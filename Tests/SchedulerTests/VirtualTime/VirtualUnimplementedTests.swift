import Scheduler
import TestSupport
import Testing

@Suite(.nothingIsLeft) struct VirtualUnimplementedTests {
  @Test("every use is reported once, with the prefix, what was called and what to do")
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
    let called = ["now", "schedule(_:)", "schedule(_:action:)", "schedule(after:_:)", "schedule(_:after:action:)"]
    for (entry, call) in zip(log.entries, called) { #expect(entry.hasPrefix("Model: \(call)")) }
    #expect(log.entries[3].contains("1.0 seconds"))
  }

  /// Each input, with the name that it is to be reported by.
  private static let uses: [(name: String, use: @Sendable (any SchedulerType) -> Void)] = [
    ("now", { _ = $0.now }), ("schedule(_:)", { $0.schedule {} }),
    ("schedule(_:action:)", { $0.schedule(1) { _ in Disposables.create() } }),
    ("schedule(after:_:)", { $0.schedule(after: .seconds(1)) {} }),
    ("schedule(_:after:action:)", { $0.schedule(1, after: .seconds(1)) { _ in Disposables.create() } }),
    ("schedule(at:_:)", { $0.schedule(at: MonotonicTime(nanoseconds: 7)) {} }),
    ("schedule(at:_:)", { $0.schedule(at: WallTime.now) {} }),
    ("schedule(at:_:)", { $0.schedule(at: BootTime.now) {} }),
    ("schedule(after:tolerance:_:)", { $0.schedule(after: .seconds(1), tolerance: .zero) {} }),
    ("schedule(at:tolerance:_:)", { $0.schedule(at: MonotonicTime(nanoseconds: 7), tolerance: .zero) {} }),
    ("schedule(at:tolerance:_:)", { $0.schedule(at: WallTime.now, tolerance: .zero) {} }),
    ("schedule(at:tolerance:_:)", { $0.schedule(at: BootTime.now, tolerance: .zero) {} }),
    (
      "schedule(after:interval:leeway:action:)",
      { $0.schedule(after: .seconds(1), interval: .seconds(1), leeway: .zero) {} }
    ),
    (
      "scheduleRelative(_:dueTime:action:)",
      { $0.scheduleRelative(1, dueTime: .seconds(1)) { _ in Disposables.create() } }
    ),
    ("schedulePeriodic(_:action:)", { $0.schedulePeriodic(PeriodicTiming(every: .seconds(1))) {} }),
    ("schedulePeriodic(_:action:)", { $0.schedulePeriodic(.seconds(1)) {} }),
    ("schedulePeriodic(_:action:)", { $0.schedulePeriodic(.seconds(1)) { $0.suspend() } }),
    ("schedulePeriodic(_:_:action:)", { $0.schedulePeriodic(1, .seconds(1)) { $0 } }),
    ("schedulePeriodic(_:_:action:)", { $0.schedulePeriodic(1, PeriodicTiming(every: .seconds(1))) { $0 } }),
    (
      "schedulePeriodic(_:startAfter:period:action:)",
      { $0.schedulePeriodic(1, startAfter: .seconds(1), period: .seconds(1)) { $0 } }
    ),
    ("schedule(after:repeating:tolerance:_:)", { $0.schedule(after: .seconds(1), repeating: .seconds(1)) {} }),
    ("schedule(repeating:tolerance:_:)", { $0.schedule(repeating: .seconds(1)) {} }),
    ("schedule(_:onDrop:)", { $0.schedule({}, onDrop: { _ in }) }),
    ("schedule(after:_:onDrop:)", { $0.schedule(after: .seconds(1), {}, onDrop: { _ in }) }),
    ("scheduleRecursive(_:action:)", { $0.scheduleRecursive(1) { _, _ in } }),
    ("scheduleRecursive(_:)", { $0.scheduleRecursive { _ in } }),
  ]

  @Test("each input is reported once, with its own name, under its own type or any other", arguments: 0..<4)
  func names(kind: Int) {
    for (name, use) in Self.uses {
      let log = Log<String>(), unimplemented = UnimplementedScheduler { log.add($0) }
      func generic(_ scheduler: some SchedulerType) { use(scheduler) }
      switch kind {
      case 0: use(unimplemented)
      case 1: use(AnyScheduler(unimplemented))
      case 2: generic(unimplemented)
      default: use(AnyScheduler(AnyScheduler(unimplemented)))
      }
      #expect(log.entries.count == 1)
      #expect(log.entries.first?.hasPrefix(name) == true, "\(log.entries) for \(name)")
    }
  }

  @Test("without a prefix the message begins with what was called, and no action is kept")
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
