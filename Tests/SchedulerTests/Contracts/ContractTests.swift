import Foundation
import Scheduler
import SchedulerRx
import TestSupport
import Testing

/// The guarantees of Guarantees.md in the module's documentation, each over every scheduler that it applies to.
@Suite(.serialized, .nothingIsLeft) struct ContractTests {
  // MARK: order and visibility

  @Test("one thread's submissions to a serial scheduler run in that order", arguments: SchedulerUnderTest.serial)
  func order(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make(), log = Log<Int>(), count = Int(Scale.count(2_000))
    for n in 0..<count { scheduler.schedule { log.add(n) } }
    scheduler.drain()
    #expect(log.entries == Array(0..<count))
  }

  @Test("each of several submitters keeps its order", arguments: SchedulerUnderTest.queuedAndSerial)
  func orderPerSubmitter(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make(), log = Log<(Int, Int)>()
    onThreads(4) { submitter in
      for n in 0..<500 { scheduler.schedule { log.add((submitter, n)) } }
    }
    scheduler.drain()
    for submitter in 0..<4 {
      #expect(log.entries.filter { $0.0 == submitter }.map(\.1) == Array(0..<500))
    }
  }

  @Test("equal deadlines keep the order of submission", arguments: SchedulerUnderTest.queuedAndSerial)  // LP3, LP9
  func equalDeadlines(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make(), log = Log<Int>(), instant = MonotonicTime.now.advanced(by: .milliseconds(20))
    for n in 0..<200 { scheduler.schedule(.at(instant)) { log.add(n) } }
    #expect(eventually { log.entries.count == 200 })
    #expect(log.entries == Array(0..<200))
  }

  @Test("an action's writes are visible to the next", arguments: SchedulerUnderTest.serial)
  func visibility(_ test: SchedulerUnderTest) throws {
    final class Plain: @unchecked Sendable { var value = 0 }  // Unchecked: the scheduler guards it
    let scheduler = try test.make(), plain = Plain()
    for _ in 0..<2_000 { scheduler.schedule { plain.value += 1 } }
    let gate = Gate(), seen = Log<Int>()
    scheduler.schedule {
      seen.add(plain.value)
      gate.open()
    }
    gate.wait()
    #expect(seen.entries == [2_000])
  }

  // MARK: cancellation

  @Test(
    "once dispose has returned, an action that had not begun never begins, and its captures are released",
    arguments: SchedulerUnderTest.queuedAndSerial)
  func disposedBeforeItsTurn(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make(), ends = Counter(), ran = Counter()
    let leave = block(scheduler)
    let tokens = [Witness(ends), Witness(ends)]
      .enumerated().map { [scheduler] index, witness -> any Disposable in
        index == 0
          ? scheduler.schedule {
            witness.touch()
            ran.increment()
          }
          : scheduler.schedule(witness) {
            $0.touch()
            ran.increment()
            return Disposables.create()
          }
      }
    for token in tokens { token.dispose() }
    #expect(ends.value == 2)
    leave.open()
    scheduler.drain()
    #expect(ran.value == 0)
  }

  @Test(
    "a delayed action that is disposed releases its captures at once, whatever its deadline",
    arguments: SchedulerUnderTest.queued, [Duration.milliseconds(30), .seconds(3_600), .seconds(Int64.max)])
  func disposedWhileDelayed(_ test: SchedulerUnderTest, delay: Duration) throws {
    let scheduler = try test.make(), ends = Counter(), ran = Counter()
    func token() -> any Disposable {
      let witness = Witness(ends)
      return scheduler.schedule(after: delay) {
        witness.touch()
        ran.increment()
      }
    }
    let disposed = ContinuousClock().measure { for token in [token(), token()] { token.dispose() } }
    #expect(ends.value == 2)
    // On a busy machine this thread can sleep past the shortest deadline between the two calls.
    if disposed < delay { #expect(ran.value == 0) }
  }

  @Test(
    "an action that has begun runs to its end, and then its own disposable is disposed",
    arguments: SchedulerUnderTest.queued)
  func disposedWhileRunning(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make(), entered = Gate(), leave = Gate(), ended = Gate(), inner = BooleanDisposable()
    let token = scheduler.schedule(0) { _ in
      entered.open()
      leave.wait()
      ended.open()
      return inner
    }
    entered.wait()
    token.dispose()
    #expect(!inner.isDisposed)
    leave.open()
    ended.wait()
    #expect(eventually { inner.isDisposed })
  }

  @Test("dropping a token cancels nothing", arguments: SchedulerUnderTest.queued)
  func dropped(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make(), ran = Counter()
    _ = scheduler.schedule { ran.increment() }
    _ = scheduler.schedule(after: .milliseconds(1)) { ran.increment() }
    #expect(eventually { ran.value == 2 })
  }

  @Test("cancel against run: each action runs or is dropped, once", arguments: SchedulerUnderTest.queued)
  func cancelRaces(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make(), ends = Counter(), count = Int(Scale.count(500))
    for n in 0..<count {
      let witness = Witness(ends)
      let token =
        n % 2 == 0
        ? scheduler.schedule { witness.touch() } : scheduler.schedule(after: .microseconds(n % 50)) { witness.touch() }
      if n % 3 != 0 { token.dispose() }
    }
    #expect(eventually { ends.value == count })
  }

  // MARK: current

  @Test("current is set, by identity, in every kind of action", arguments: SchedulerUnderTest.all)
  func current(_ test: SchedulerUnderTest) throws {
    let (scheduler, current) = try test.makeBoth(), seen = Log<Bool>(), done = Gate()
    let note: @Sendable () -> Void = { seen.add(Schedulers.current === current) }
    scheduler.schedule {
      note()
      scheduler.schedule(note)  // nested
    }
    scheduler.schedule(0) { _ in
      note()
      return Disposables.create()
    }
    scheduler.schedule(after: .milliseconds(1), note)
    scheduler.scheduleRecursive(0) { n, again in
      note()
      if n < 3 { again(n + 1) } else { done.open() }
    }
    done.wait()
    #expect(eventually { seen.entries.count == 8 })
    #expect(seen.entries.allSatisfy { $0 })
    #expect(Schedulers.current == nil)
  }

  @Test("current is set in periodic actions", arguments: SchedulerUnderTest.queued)
  func currentInPeriodic(_ test: SchedulerUnderTest) throws {
    let (scheduler, current) = try test.makeBoth(), seen = Log<Bool>()
    let token = scheduler.schedule(.every(.milliseconds(1), after: .zero)) {
      seen.add(Schedulers.current === current)
    }
    #expect(eventually { seen.entries.count >= 3 })
    token.dispose()
    #expect(seen.entries.allSatisfy { $0 })
  }

  // MARK: time

  @Test("nothing runs early", arguments: SchedulerUnderTest.all)
  func neverEarly(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make(), late = Log<Duration>()
    for milliseconds in [0, 1, 5, 12] {
      let start = scheduler.now, delay = Duration.milliseconds(milliseconds)
      scheduler.schedule(after: delay) { late.add(start.duration(to: scheduler.now) - delay) }
    }
    #expect(eventually { late.entries.count == 4 })
    #expect(late.entries.allSatisfy { $0 >= .zero })
  }

  @Test("a delay of zero or less runs soon, one beyond the end of time never", arguments: SchedulerUnderTest.queued)
  func absurdDelays(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make(), ran = Log<Int>()
    let never = [Duration.seconds(Int64.max), .nanoseconds(Int64.max)].map {
      scheduler.schedule(after: $0) { ran.add(-1) }
    }
    for (n, delay) in [Duration.zero, .seconds(-1), .seconds(Int64.min), .nanoseconds(-1)].enumerated() {
      scheduler.schedule(after: delay) { ran.add(n) }
    }
    #expect(eventually { ran.entries.count == 4 })
    for token in never { token.dispose() }
    #expect(Set(ran.entries) == [0, 1, 2, 3])
  }

  // MARK: recursion

  @Test("recursion is flat, and disposing ends it", arguments: SchedulerUnderTest.all)
  func recursion(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make(), steps = Counter(), done = Gate(), count = Int(Scale.count(20_000))
    let token = SingleAssignmentDisposable(), isSet = Gate()
    token.setDisposable(
      scheduler.scheduleRecursive(1) { n, again in
        steps.increment()
        if n == count {
          if test.isQueued { #expect(isSet.wait()) }  // inside the call there is no token yet
          token.dispose()
          if test.isQueued { again(n + 1) }  // disposed: nothing comes of it
          done.open()
        } else {
          again(n + 1)
        }
      })
    isSet.open()
    #expect(done.wait(while: steps))
    #expect(steps.value == count)
  }

  @Test(
    "other work runs between the steps of a recursion",
    arguments: SchedulerUnderTest.queuedAndSerial.filter(\.isQueuedInside))
  func interleaving(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make(), steps = Counter()
    let endless = scheduler.scheduleRecursive { again in
      steps.increment()
      again()
    }
    #expect(eventually { steps.value > 10 })
    scheduler.drain()
    endless.dispose()
    let after = steps.value
    scheduler.drain()
    #expect(steps.value <= after + 1)
  }

  @Test("a step may be requested later, from another thread", arguments: SchedulerUnderTest.all)
  func laterSteps(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make(), steps = Log<Int>(), done = Gate()
    scheduler.scheduleRecursive(0) { n, again in
      steps.add(n)
      if n == 5 { return done.open() }
      Thread.detachNewThread { again(n + 1) }
    }
    #expect(done.wait())
    #expect(steps.entries == [0, 1, 2, 3, 4, 5])
  }
}
