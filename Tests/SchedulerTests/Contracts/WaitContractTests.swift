import CTestSupport
import Foundation
import Scheduler
import SchedulerRx
import SchedulerTesting
import Synchronization
import TestSupport
import Testing

/// An object that only the action, and a thread that has waited for it, may touch.
private final class Plain: @unchecked Sendable { var value = 0 }  // Unchecked: the wait guards it

/// Guarantee 4: `disposeAndWait` returns after the end of an action that has begun.
@Suite(.serialized, .nothingIsLeft) struct WaitContractTests {
  /// Disposes `token` on another thread, lets `leave` open while that waits, and returns when it has.
  private func disposeAndWait(for token: any Disposable, whileOpening leave: Gate) {
    let isOver = Gate(), before = Counter()
    Thread.detachNewThread {
      before.increment()
      token.disposeAndWait()
      isOver.open()
    }
    #expect(eventually { before.value == 1 })
    usleep(2_000)
    leave.open()
    #expect(isOver.wait())
  }

  @Test(
    "disposeAndWait returns after the running action has ended, and its writes are visible",
    arguments: SchedulerUnderTest.queued, 0..<4)
  func running(_ test: SchedulerUnderTest, kind: Int) throws {
    let scheduler = try test.make()
    for _ in 0..<Scale.count(10) {
      let plain = Plain(), ends = Counter(), entered = Gate(), leave = Gate()
      let make: () -> any Disposable = {
        let witness = Witness(ends)
        let work: @Sendable () -> Void = {
          witness.touch()
          entered.open()
          leave.wait()
          plain.value += 1
        }
        let returning: @Sendable (Int) -> any Disposable = { _ in
          work()
          return Disposables.create()
        }
        switch kind {
        case 0: return scheduler.schedule(work)
        case 1: return scheduler.schedule(0, action: returning)
        case 2: return scheduler.schedule(after: .microseconds(10), work)
        default: return scheduler.schedule(0, after: .microseconds(10), action: returning)
        }
      }
      let token = make()
      entered.wait()
      Thread.detachNewThread {
        usleep(500)
        leave.open()
      }
      token.disposeAndWait()
      #expect(plain.value == 1)
      #expect(ends.value == 1)
    }
  }

  @Test(
    "of several threads that dispose and wait, each returns when the captures are released",
    arguments: SchedulerUnderTest.queued)
  func several(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make()
    for round in 0..<Int(Scale.count(100)) {
      let plain = Plain(), ends = Counter()
      func make() -> any Disposable {
        let witness = Slow(ends)
        let work: @Sendable () -> Void = {
          plain.value += 1
          witness.touch()
        }
        switch round % 5 {
        case 0: return scheduler.schedule(work)
        case 1:
          return scheduler.schedule(0) { _ in
            work()
            return Disposables.create()
          }
        case 2: return scheduler.schedule(after: .microseconds(round % 50), work)
        case 3: return scheduler.schedule(.every(.microseconds(round % 50), after: .zero), work)
        default:
          return scheduler.scheduleRecursive { again in
            work()
            again()
          }
        }
      }
      let token = make(), early = Counter(), values = Log<Int>()
      onThreads(3) { _ in
        token.disposeAndWait()
        values.add(plain.value)
        if ends.value == 0 { early.increment() }
      }
      #expect(early.value == 0)
      #expect(values.entries.allSatisfy { $0 == plain.value })
    }
  }

  @Test("from inside of the action it does not wait", arguments: SchedulerUnderTest.queued, 0..<5)
  func inside(_ test: SchedulerUnderTest, kind: Int) throws {
    let scheduler = try test.make(), done = Gate(), token = SingleAssignmentDisposable(), isSet = Gate(),
      ran = Counter()
    let work: @Sendable () -> Void = {
      if ran.increment() > 1 { return }
      isSet.wait()
      token.disposable?.disposeAndWait()
      token.disposeAndWait()
      done.open()
    }
    switch kind {
    case 0: token.setDisposable(scheduler.schedule(work))
    case 1:
      token.setDisposable(
        scheduler.schedule(0) { _ in
          work()
          return Disposables.create()
        })
    case 2: token.setDisposable(scheduler.schedule(after: .milliseconds(1), work))
    case 3: token.setDisposable(scheduler.schedule(.every(.milliseconds(1), after: .zero), work))
    default:
      token.setDisposable(
        scheduler.scheduleRecursive { again in
          work()
          again()
        })
    }
    isSet.open()
    #expect(done.wait())
    usleep(3_000)
    #expect(ran.value == 1)
  }

  @Test(
    "disposeAndWait waits for the tick in progress, and none follows",
    arguments: SchedulerUnderTest.queued, [Duration.zero, .milliseconds(1)])
  func periodic(_ test: SchedulerUnderTest, period: Duration) throws {
    let scheduler = try test.make(), period = max(period, test.shortestPeriod)
    for isStateful in [false, true] {
      let plain = Plain(), entered = Gate(), ends = Counter()
      func make() -> any Disposable {
        let witness = Witness(ends)
        let work: @Sendable () -> Void = {
          witness.touch()
          plain.value += 1
          if plain.value == 3 {
            entered.open()
            usleep(2_000)
          }
          plain.value += 1
        }
        return isStateful
          ? scheduler.schedulePeriodic(0, startAfter: .zero, period: period) {
            work()
            return $0
          } : scheduler.schedule(.every(period, after: .zero), work)
      }
      let token = make()
      entered.wait()
      token.disposeAndWait()
      expectNoneFollows(plain, atLeast: 4, ends)
    }
  }

  /// The runs that had begun have ended, each of which adds one at its beginning and one at its end; what they captured
  /// is gone, and none begins later.
  private func expectNoneFollows(_ plain: Plain, atLeast least: Int, _ ends: Counter) {
    let last = plain.value
    #expect(last % 2 == 0 && last >= least)
    #expect(ends.value == 1)
    usleep(3_000)
    #expect(plain.value == last)
  }

  @Test("disposeAndWait waits for the step of a recursion", arguments: SchedulerUnderTest.queued)  // OC1
  func recursion(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make(), plain = Plain(), entered = Gate(), ends = Counter()
    func make() -> any Disposable {
      let witness = Witness(ends)
      return scheduler.scheduleRecursive(1) { n, again in
        witness.touch()
        plain.value += 1
        if n == 3 {
          entered.open()
          usleep(2_000)
        }
        plain.value += 1
        again(n + 1)
      }
    }
    let token = make()
    entered.wait()
    token.disposeAndWait()
    expectNoneFollows(plain, atLeast: 6, ends)
  }

  // Y1, Y5
  @Test("disposeAndWait waits for the disposable that the running action returns", arguments: SchedulerUnderTest.queued)
  func returned(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make(), other = try ThreadScheduler()
    for hasEnded in [true, false] {
      let plain = Plain(), entered = Gate(), leave = Gate(), inner = Gate()
      let token = scheduler.schedule(0) { _ in
        let next = other.schedule(0) { _ in
          inner.open()
          usleep(3_000)
          plain.value += 1
          return Disposables.create()
        }
        inner.wait()
        if !hasEnded {
          entered.open()
          leave.wait()
        }
        return next
      }
      if hasEnded {
        #expect(eventually { token.isDisposed })
        token.disposeAndWait()
      } else {
        entered.wait()
        disposeAndWait(for: token, whileOpening: leave)
      }
      #expect(plain.value == 1)
    }
  }

  // Y5
  @Test(
    "of several threads that wait for a running action, each waits for its returned disposable",
    arguments: SchedulerUnderTest.queued)
  func returnedToSeveral(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make(), other = try ThreadScheduler()
    let entered = Gate(), leave = Gate(), inner = Gate(), end = Gate(), isOver = BooleanDisposable()
    let token = scheduler.schedule(0) { _ in
      let next = other.schedule(0) { _ in
        inner.open()
        end.wait()
        isOver.dispose()
        return Disposables.create()
      }
      inner.wait()
      entered.open()
      leave.wait()
      return next
    }
    entered.wait()
    let waiting = Log<UInt32>(), values = Log<Bool>()
    for _ in 0..<2 {
      Thread.detachNewThread {
        waiting.add(System.threadID)
        token.disposeAndWait()
        values.add(isOver.isDisposed)
      }
    }
    var first: [Substring] = []
    #expect(
      eventually {
        first = waits(of: waiting.entries)
        return first.count == 2
      })
    leave.open()
    // Each then waits for what the action has returned; or does not, which is found below.
    #expect(
      eventually {
        let now = waits(of: waiting.entries)
        return !values.entries.isEmpty || now.count == 2 && Set(now).isDisjoint(with: first)
      })
    #expect(values.entries.isEmpty)
    end.open()
    #expect(eventually { values.entries.count == 2 })
    #expect(values.entries == [true, true])
  }

  /// What those of the threads that wait for the end of a run wait for, as a dump says it.
  private func waits(of threads: [UInt32]) -> [Substring] {
    guard let file = tmpfile() else { return [] }
    defer { fclose(file) }
    Schedulers.dump(to: fileno(file))
    var bytes = [UInt8](repeating: 0, count: Int(lseek(fileno(file), 0, SEEK_END)))
    pread(fileno(file), &bytes, bytes.count, 0)
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    return threads.compactMap { thread in
      guard let line = lines.first(where: { $0.hasPrefix("thread \(thread) ") || $0.hasPrefix("thread \(thread):") }),
        let start = line.range(of: "; waits in csched_job_cancel_and_wait for"), let end = line.range(of: " since ")
      else { return nil }
      return line[start.lowerBound..<end.lowerBound]
    }
  }

  @Test("containers wait for all that they hold") func containers() throws {
    let threads = try (0..<3).map { _ in try ThreadScheduler() }
    let containers: [([any Disposable]) -> any Disposable] = [
      { CompositeDisposable(disposables: $0) }, { Disposables.create($0) },
      { Disposables.create($0[0], Disposables.create($0[1], $0[2])) },
      { RefCountDisposable(disposable: Disposables.create($0)) }, { AnyDisposable(Disposables.create($0)).scoped() },
      {
        let serial = SerialDisposable(), single = SingleAssignmentDisposable()
        single.setDisposable(Disposables.create($0))
        serial.disposable = single
        return serial
      },
    ]
    for container in containers {
      let entered = threads.map { _ in Gate() }, plain = threads.map { _ in Plain() }, isFree = BooleanDisposable()
      let tokens = zip(threads, zip(entered, plain)).map { thread, each in
        thread.schedule {
          each.0.open()
          // The last of them is disposed before any is waited for.
          while !isFree.isDisposed {}
          usleep(500)
          each.1.value += 1
        }
      }
      for gate in entered { gate.wait() }
      container(tokens.dropLast() + [Disposables.create(tokens.last!, isFree)]).disposeAndWait()
      #expect(plain.map(\.value) == [1, 1, 1])
    }
  }

  // OC1, RC2, RC3
  @Test(
    "disposeAndWait returns after the running action has ended, whichever thread drives virtual time", arguments: 0..<4)
  func virtual(kind: Int) {
    for _ in 0..<Scale.count(20) {
      let scheduler = TestScheduler(), plain = Plain(), entered = Gate(), ends = Counter()
      func make() -> any Disposable {
        let witness = Witness(ends)
        let work: @Sendable () -> Void = {
          witness.touch()
          plain.value += 1
          entered.open()
          usleep(500)
          plain.value += 1
        }
        switch kind {
        case 0: return scheduler.schedule(work)
        case 1:
          return scheduler.schedule(0) { _ in
            work()
            return Disposables.create()
          }
        case 2: return scheduler.schedule(.every(.seconds(1), after: .zero), work)
        default:
          return scheduler.scheduleRecursive { again in
            work()
            again()
          }
        }
      }
      let token = make(), isDone = Gate()
      Thread.detachNewThread {
        scheduler.advance(by: .seconds(3))
        isDone.open()
      }
      entered.wait()
      token.disposeAndWait()
      #expect(plain.value % 2 == 0)
      #expect(ends.value == 1)
      let last = plain.value
      isDone.wait()
      #expect(plain.value == last)
    }
    let scheduler = TestScheduler(), token = SingleAssignmentDisposable(), ran = Counter()
    token.setDisposable(
      scheduler.schedule(.every(.seconds(1), after: .zero)) {
        ran.increment()
        token.disposable?.disposeAndWait()
      })
    scheduler.advance(by: .seconds(3))
    #expect(ran.value == 1)
  }

  @Test("disposeAndWait on the current thread's scheduler waits for another thread's, and not for its own")
  func trampoline() {
    let plain = Plain(), entered = Gate(), tokens = Log<any Disposable>()
    Thread.detachNewThread {
      CurrentThreadScheduler.instance.schedule {
        tokens.add(
          CurrentThreadScheduler.instance.schedule {
            entered.open()
            usleep(2_000)
            plain.value = 1
          })
      }
    }
    entered.wait()
    tokens.entries[0].disposeAndWait()
    #expect(plain.value == 1)

    let ran = Counter(), own = SingleAssignmentDisposable()
    CurrentThreadScheduler.instance.schedule {
      let waiting = CurrentThreadScheduler.instance.schedule { ran.increment() }
      own.setDisposable(
        CurrentThreadScheduler.instance.schedule {
          own.disposeAndWait()
          ran.increment()
        })
      waiting.disposeAndWait()
    }
    #expect(ran.value == 1)
    ImmediateScheduler.instance.schedule { ran.increment() }.disposeAndWait()
    #expect(ran.value == 2)
  }

  @Test("wrappers and other schedulers' periodic and recursive actions wait, too") func wrappers() throws {
    let thread = try ThreadScheduler()
    let wrappers: [any SchedulerType] = [
      ActionGroup().scheduler(on: thread), thread.wrapping { $0() }, RecordingScheduler(thread), Foreign(base: thread),
      RecordingScheduler(Foreign(base: thread)), SubscriptionScheduler(),
    ]
    for scheduler in wrappers {
      for kind in 0..<3 where kind > 0 || !(scheduler is Foreign || scheduler is RecordingScheduler<Foreign>) {
        let plain = Plain(), entered = Gate(), ends = Counter()
        func make() -> any Disposable {
          let witness = Witness(ends)
          let work: @Sendable () -> Void = {
            witness.touch()
            plain.value += 1
            entered.open()
            usleep(1_000)
            plain.value += 1
          }
          switch kind {
          case 0: return scheduler.schedule(work)
          case 1: return scheduler.schedule(.every(.microseconds(10), after: .zero), work)
          default:
            return scheduler.scheduleRecursive { again in
              work()
              again()
            }
          }
        }
        let token = make()
        entered.wait()
        token.disposeAndWait()
        let last = plain.value
        #expect(last % 2 == 0, "\(scheduler), \(kind)")
        #expect(ends.value == 1)
        usleep(1_000)
        #expect(plain.value == last)
      }
    }
  }

  @Test("on a thread of the pool another one takes the place of the one that waits") func onPool() {
    let pool = ConcurrentScheduler(), count = 2 * ProcessInfo.processInfo.activeProcessorCount + 2, ended = Counter()
    for _ in 0..<count {
      let entered = Gate(), leave = Gate()
      let token = pool.schedule {
        entered.open()
        leave.wait()
      }
      entered.wait()
      pool.schedule {
        token.disposeAndWait()
        ended.increment()
      }
      pool.schedule { leave.open() }
    }
    #expect(eventually { ended.value == count })
  }

  @Test("disposeAndWait in a capture's deinit does not wait for itself") func insideOfDrop() throws {
    let thread = try ThreadScheduler(), gone = Counter()
    let leave = block(thread)
    final class Owner: Sendable {
      let token: SingleAssignmentDisposable, gone: Counter
      init(_ token: SingleAssignmentDisposable, _ gone: Counter) { (self.token, self.gone) = (token, gone) }
      deinit {
        token.disposable?.disposeAndWait()
        gone.increment()
      }
      func touch() {}
    }
    func make(_ kind: Int) -> any Disposable {
      let token = SingleAssignmentDisposable(), owner = Owner(token, gone), inner: any Disposable
      switch kind {
      case 0: inner = thread.schedule { owner.touch() }
      case 1: inner = thread.schedule(after: .seconds(60)) { owner.touch() }
      case 2: inner = thread.schedule(.every(.seconds(1), after: .zero)) { owner.touch() }
      case 3: inner = thread.scheduleRecursive { _ in owner.touch() }
      case 4: inner = Foreign(base: thread).schedule(.every(.seconds(1), after: .zero)) { owner.touch() }
      default: inner = TestScheduler().schedule { owner.touch() }
      }
      token.setDisposable(inner)
      return inner
    }
    for kind in 0..<6 { make(kind).dispose() }
    #expect(gone.value == 6)
    leave.open()
    thread.drain()
  }
}

/// A witness whose end takes a moment.
private final class Slow: Sendable {
  private let ends: Counter
  init(_ ends: Counter) { self.ends = ends }
  deinit {
    usleep(200)
    ends.increment()
  }
  func touch() {}
}
