#if Combine
  import OpenCombine
  import SchedulerCombine
  import SchedulerRx
  import SchedulerTesting
  import TestSupport
  import Testing

  typealias Stride = CombineScheduler.SchedulerTimeType.Stride

  @Suite("CombineScheduler", .nothingIsLeft) struct CombineSchedulerTests {
    @Test("time is the scheduler's own, and nothing is early", arguments: Kind.all) func time(_ kind: Kind) throws {
      let made = try kind.make(), ran = Protected<CombineScheduler.SchedulerTimeType?>(nil), view = made.view
      let due = view.now.advanced(by: .milliseconds(2))
      view.schedule(after: due, tolerance: .zero) { ran.write(view.now) }
      #expect(made.until { ran.read() != nil })
      if !(made.scheduler is CollapsedTimeScheduler) { #expect(try #require(ran.read()) >= due) }
      ran.write(nil)
      view.schedule { ran.write(view.now) }
      #expect(made.until { ran.read() != nil })
    }

    @Test("equal instants keep the order of submission, in virtual time to the tick") func equalInstants() {
      let clock = TestScheduler(), view = clock.combine, log = Protected<[String]>([])
      for name in ["a", "b"] { view.schedule(after: view.now.advanced(by: 5)) { log.append(name) } }
      view.schedule(after: view.now.advanced(by: .seconds(4.999_999_999))) { log.append("early") }
      view.schedule(after: view.now.advanced(by: -5)) { log.append("at once") }
      clock.advance(by: .nanoseconds(4_999_999_998))
      #expect(log.read() == ["at once"])
      clock.run()
      #expect(log.read() == ["at once", "early", "a", "b"] && clock.now.nanoseconds == 5_000_000_000)
    }

    @Test("a repeating action ticks until it is cancelled, and its closure is then released", arguments: Kind.timed)
    func repeating(_ kind: Kind) throws {
      let made = try kind.make(), ticks = Protected(0), gone = Protected(0)
      func begin() -> any Cancellable {
        let tracked = Tracked(gone)
        return made.view.schedule(after: made.view.now, interval: .milliseconds(1)) { [tracked] in
          withExtendedLifetime(tracked) { ticks.withLock { $0 += 1 } }
        }
      }
      let ticking = begin()
      #expect(made.until { ticks.read() >= 3 })
      ticking.cancel()
      #expect(eventually { gone.read() == 1 })  // a tick in progress holds it
      ticking.cancel()
    }

    @Test("a tolerance is passed on") func tolerance() {
      let noted = Notes(), view = noted.combine
      view.schedule(after: view.now.advanced(by: 1), tolerance: .milliseconds(7)) {}
      _ = view.schedule(after: view.now, interval: 2, tolerance: .milliseconds(8)) {}
      #expect(noted.tolerances.read() == [.milliseconds(7), .milliseconds(8)] && view.minimumTolerance == .zero)
    }

    @Test("a priority is that of the pool, and the scheduler stays the current one") func priority() {
      let queue = ConcurrentScheduler(name: "view", priority: .low), found = Protected<[Bool]>([])
      for priority in SchedulerPriority.allCases {
        queue.combine.schedule(options: .init(priority: priority)) {
          let isCurrent = Schedulers.current === queue
          found.append(isCurrent)
        }
      }
      #expect(eventually { found.read().count == 4 } && found.read().allSatisfy { $0 })
    }

    @Test("a stride counts as Combine's do, and holds at its ends") func strides() {
      #expect(
        Stride.seconds(1) == 1 && Stride.milliseconds(1500) == 1.5 && Stride.microseconds(3) == .nanoseconds(3_000))
      #expect(Stride.seconds(0.000_000_000_1) == .nanoseconds(1) && Stride(.seconds(2)).duration == .seconds(2))
      #expect((2 as Stride) * .seconds(3) == .seconds(6) && (1 as Stride) * .nanoseconds(7) == .nanoseconds(7))
      #expect((-2 as Stride).magnitude == 2 && 3 - (1 as Stride) == 2 && -(3 as Stride) == .seconds(-3))
      let longest = Stride.seconds(Int.max), shortest = Stride.seconds(Int.min)
      #expect(longest + 1 == longest && shortest - 1 == shortest && longest * 2 == longest && shortest * 2 == shortest)
      #expect(longest * longest == longest && shortest * longest == shortest && shortest.magnitude == longest)
      #expect(Stride.seconds(.nan) == longest && Stride.seconds(.infinity) == longest)
      #expect(Stride.seconds(-Double.infinity) == shortest && Stride.seconds(1e30) == longest)
      #expect(Stride(exactly: 5) == 5 && Stride(exactly: Int.max) == nil && Stride(exactly: UInt64.max) == nil)
      var sum = 1 as Stride
      sum *= 4
      sum += 0.5
      #expect(sum == 4.5)
      let now = TestScheduler().combine.now
      #expect(now.advanced(by: 3).distance(to: now) == -3 && now < now.advanced(by: 1))
    }

    @Test(
      "an action that is never due can be scheduled, and cancelled",
      arguments: [Stride.seconds(Int.max), .seconds(.nan)])
    func never(_ stride: Stride) {
      let queue = SerialScheduler(name: "never")
      let held = [1].publisher.delay(for: stride, scheduler: queue.combine).sink { _ in Issue.record("it came") }
      held.cancel()
    }
  }

  /// Notes the tolerances that it is given, and runs nothing.
  final class Notes: SchedulerType {
    let tolerances = Protected<[Duration]>([])

    var now: MonotonicTime { .now }

    func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable { Disposables.create() }

    func schedule(_ timing: ActionTiming, _ action: @escaping @Sendable () -> Void) -> any Disposable {
      tolerances.append(timing.tolerance)
      return Disposables.create()
    }
  }
#endif
