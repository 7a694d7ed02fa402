import CTestSupport
import Foundation
import Scheduler
import TestSupport
import Testing

/// The threads that keep the time, the pool's and that of the wall and boot clocks, call nothing of the user's: they
/// would be held up.
@Suite(.nothingIsLeft) struct TimekeeperTests {
  static var schedulers: [SchedulerUnderTest] { SchedulerUnderTest.all.filter { !$0.delaysItsCaller } }

  /// Over virtual time, too, whose actions nothing but the clock's mover may touch; it has no other clock than its own.
  @Test("a thread that keeps the time touches neither actions nor their captures", arguments: schedulers)
  func untouched(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make(), threads = Log<String>(), ends = Counter()
    func action() -> @Sendable () -> Void {
      let witness = ThreadWitness(threads, ends)
      return { witness.touch() }
    }
    var tokens: [any Disposable] = []
    for n in 0..<20 {
      let delay = Duration.microseconds(100 * n)
      tokens += [
        scheduler.schedule(after: delay, action()),
        scheduler.schedule(.at(.now.advanced(by: delay)), action()),
        scheduler.schedule(.every(.milliseconds(1), after: delay), action()),
        scheduler.schedule(after: .seconds(3_600), action()),
        scheduler.schedule(action()),
      ]
      if let target = scheduler as? SchedulerTarget {
        tokens += [
          target.schedule(.at(wall: WallTime.now.advanced(by: delay)), action()),
          target.schedule(.at(continuous: ContinuousClock.now.advanced(by: delay)), action()),
        ]
      }
    }
    usleep(1_000)
    for (n, token) in tokens.enumerated() where n % 10 < 5 { token.dispose() }  // before, while and after they run
    usleep(5_000)
    for token in tokens { token.dispose() }
    #expect(eventually { ends.value == tokens.count })
    #expect(threads.entries.filter(isTimekeeper) == [])
  }

  @Test("a scheduler's closure is not called by a thread that keeps the time")
  func enqueue() {
    let threads = Log<String>(), ran = Counter()
    let custom = CustomScheduler { work in
      threads.add(threadName())
      work()
    }
    let queue = SerialScheduler(target: custom)
    for scheduler: SchedulerTarget in [custom, queue] {
      for n in 0..<20 {
        let delay = Duration.microseconds(100 * n)
        scheduler.schedule(after: delay) { ran.increment() }
        scheduler.schedule(.at(wall: WallTime.now.advanced(by: delay))) { ran.increment() }
        scheduler.schedule(.at(continuous: ContinuousClock.now.advanced(by: delay))) { ran.increment() }
      }
    }
    #expect(eventually { ran.value == 120 })
    #expect(threads.entries.filter(isTimekeeper) == [])
  }

  @Test("an inline scheduler whose action blocks holds up no other's delayed actions")
  func blocks() throws {
    let slow = CustomScheduler { work in work() }, quick = CustomScheduler { work in work() }
    let hold = Gate(), began = Counter(), ran = Counter(), ends = Counter()
    let instants: [(SchedulerTarget, Duration, @escaping @Sendable () -> Void) -> any Disposable] = [
      { $0.schedule(after: $1, $2) },
      { $0.schedule(.at(wall: WallTime.now.advanced(by: $1)), $2) },
      { $0.schedule(.at(continuous: ContinuousClock.now.advanced(by: $1)), $2) },
    ]
    // An instant that has passed by now would be this thread's own action, and block it: a second is later than any
    // pause on the way.
    for instant in instants {
      _ = instant(slow, .seconds(1)) {
        began.increment()
        hold.wait()
      }
    }
    #expect(eventually { began.value >= 2 })  // the pool's, and one of the other clocks'
    for instant in instants {
      for scheduler in [quick, SerialScheduler(), ConcurrentScheduler(), SerialScheduler(target: quick)] {
        _ = instant(scheduler, .milliseconds(2)) { ran.increment() }
      }
    }
    #expect(eventually { ran.value == 12 })
    // Behind the one that blocks: disposed before its turn, its captures are released at once.
    let behind = instants.map { instant in
      let witness = Witness(ends)
      return instant(slow, .milliseconds(2)) {
        witness.touch()
        ran.increment()
      }
    }
    usleep(5_000)
    for token in behind { token.dispose() }
    #expect(ends.value == 3)
    for _ in 0..<3 { hold.open() }
    #expect(eventually { began.value == 3 })
    slow.drain()
    #expect(ran.value == 12)
  }

  @Test("equal instants of a custom scheduler keep the order of submission, late ones included")
  func order() {
    let queue = DispatchQueue(label: "order")
    for round in 0..<Int(Scale.count(100)) {
      let custom = CustomScheduler { work in queue.async(execute: work) }
      let log = Log<Int>(), instant = MonotonicTime.now.advanced(by: .microseconds(100))
      for n in 0..<10 {
        custom.schedule(.at(instant)) { log.add(n) }
        if round % 2 == 0 { usleep(10) }
      }
      #expect(eventually { log.entries.count == 10 })
      #expect(log.entries == Array(0..<10))
    }
  }

  @Test("a thread that keeps the time touches no action that a shutdown drops", arguments: [true, false])
  func shutdown(runs: Bool) async {
    await withExitArgument(runs) {
      await #expect(processExitsWith: .success) {
        let runs: Bool = exitArgument()
        let threads = Log<String>(), ends = Counter()
        let custom = CustomScheduler { work in
          threads.add(threadName())
          work()
        }
        for scheduler: SchedulerTarget in [
          ConcurrentScheduler(), SerialScheduler(), custom, SerialScheduler(target: custom),
        ] {
          for n in 0..<20 {
            let witnesses = (0..<3).map { _ in ThreadWitness(threads, ends) }
            scheduler.schedule(after: .microseconds(100 * n)) { witnesses[0].touch() }
            scheduler.schedule(after: .seconds(60)) { witnesses[1].touch() }
            scheduler.schedule(.at(wall: WallTime.now.advanced(by: .microseconds(100 * n)))) { witnesses[2].touch() }
          }
        }
        usleep(1_000)
        Schedulers.shutdown(runs ? .runOutstanding : .dropOutstanding)
        #expect(ends.value == 240)
        #expect(threads.entries.filter(isTimekeeper) == [])
        #expect(Diagnostics.live.threads == 0)
      }
    }
  }
}

/// Records which thread touches it, and which one releases it last.
private final class ThreadWitness: Sendable {
  private let threads: Log<String>, ends: Counter
  init(_ threads: Log<String>, _ ends: Counter) {
    self.threads = threads
    self.ends = ends
  }
  deinit {
    threads.add(threadName())
    ends.increment()
  }
  func touch() { threads.add(threadName()) }
}

private func threadName() -> String {
  withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { name in
    ctest_thread_name(name.baseAddress!)
    return String(cString: name.baseAddress!)
  }
}

private func isTimekeeper(_ name: String) -> Bool { name == "csched-clock" || name.hasSuffix("-0") }
