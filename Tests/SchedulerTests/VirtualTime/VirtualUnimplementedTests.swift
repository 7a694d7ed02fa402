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
    let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(message.contains("Model: schedule(_:) was called"))
  }
}
