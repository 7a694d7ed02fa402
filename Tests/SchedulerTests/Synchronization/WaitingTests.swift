import Foundation
import Scheduler
import TestSupport
import Testing

@Suite(.nothingIsLeft) struct ConditionTests {
  @Test("a value is passed on from thread to thread, once each, by a condition") func passedOn() {
    let values = Protected<[Int]>([]), filled = UnfairLock.Condition(), taken = Protected<[Int]>([])
    onThreads(8) { n in
      for i in 0..<500 {
        if n < 4 {
          values.withLock { $0.append(n * 500 + i) }
          filled.signal()
        } else {
          let value = values.withLock(on: filled, when: { !$0.isEmpty }) { $0.removeFirst() }
          taken.withLock { $0.append(value) }
        }
      }
    }
    #expect(taken.withLock { $0.sorted() } == Array(0..<2_000))
  }

  @Test("a broadcast ends all waits, with the lock taken") func broadcast() {
    let lock = UnfairLock(), opened = UnfairLock.Condition(), ready = ActionGroup(entered: 6), passed = Counter()
    nonisolated(unsafe) var isOpen = false
    onThreads(7) { n in
      if n == 6 {
        ready.wait()
        lock.withLock { isOpen = true }
        return opened.broadcast()
      }
      lock.lock()
      ready.leave()
      while !isOpen { opened.wait(with: lock) }
      lock.preconditionOwner()
      lock.unlock()
      passed.increment()
    }
    #expect(passed.value == 6)
  }

  @Test("a timed wait is not early, and ends with the lock taken") func timed() {
    let lock = UnfairLock(), condition = UnfairLock.Condition(), start = MonotonicTime.now
    lock.lock()
    #expect(!condition.wait(with: lock, for: .milliseconds(20)))
    #expect(start.duration(to: .now) >= .milliseconds(20))
    #expect(!condition.wait(with: lock, until: start.advanced(by: .milliseconds(40))))
    #expect(start.duration(to: .now) >= .milliseconds(40))
    for absurd: Duration in [.zero, .seconds(-1), .nanoseconds(-1), .seconds(Int64.min)] {
      #expect(!condition.wait(with: lock, for: absurd))
    }
    #expect(!condition.wait(with: lock, until: MonotonicTime(nanoseconds: 0)))
    lock.preconditionOwner()
    lock.unlock()
  }

  @Test("a value that is not ready in time is left alone") func notReady() {
    let value = Protected(0), condition = UnfairLock.Condition(), start = MonotonicTime.now
    #expect(value.withLock(on: condition, for: .milliseconds(10), when: { $0 > 0 }) { $0 += 1 } == nil)
    #expect(start.duration(to: .now) >= .milliseconds(10))
    #expect(value.withLock(on: condition, until: .now, when: { $0 > 0 }) { $0 += 1 } == nil)
    #expect(value.withLock(on: condition, for: .seconds(-1), when: { $0 == 0 }) { $0 + 7 } == 7)
    struct Wrong: Error {}
    #expect(throws: Wrong.self) { try value.withLock(on: condition, when: { $0 == 0 }) { _ in throw Wrong() } }
    #expect(value.read() == 0)
  }

  @Test("a wait for longer than the clock can hold is for ever") func huge() {
    let lock = UnfairLock(), condition = UnfairLock.Condition(), waits = Protected(false)
    onThreads(2) { n in
      if n == 1 {
        #expect(eventually { waits.read() && lock.withLock { true } })
        return condition.signal()
      }
      lock.lock()
      waits.write(true)
      #expect(condition.wait(with: lock, for: .seconds(Int64.max)))
      lock.unlock()
    }
  }

  @Test("a wait without the lock stops the process, in Swift") func withoutLock() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      synchronously { UnfairLock.Condition().wait(with: UnfairLock()) }
    }
    expectMessage(result, "UnfairLock.Condition.wait, csched_cond_wait:", "the caller does not own lock")
  }
}

@Suite(.nothingIsLeft) struct RecursiveLockTests {
  @Test("its owner takes it again, and no other thread") func excludes() {
    let lock = RecursiveLock()
    nonisolated(unsafe) var count = 0
    onThreads(8) { _ in
      for _ in 0..<1_000 { lock.withLock { lock.withLock { count += 1 } } }
    }
    #expect(count == 8_000)
  }

  @Test("it is free when it has been unlocked as often as locked") func counts() {
    struct Refusal: Error {}
    let lock = RecursiveLock(), tried = Log<Bool>()
    synchronously { lock.lock() }
    #expect(lock.tryLock() && lock.tryLock(for: .zero) && lock.tryLock(until: MonotonicTime(nanoseconds: 0)))
    #expect(throws: Refusal.self) { try lock.withLock { throw Refusal() } }
    for _ in 0..<3 { lock.unlock() }
    onThreads(1) { _ in
      tried.add(lock.tryLock())
      let start = MonotonicTime.now
      tried.add(lock.tryLock(for: .milliseconds(10)))
      #expect(start.duration(to: .now) >= .milliseconds(10))
    }
    lock.preconditionOwner()
    lock.unlock()
    lock.preconditionNotOwner()
    onThreads(1) { _ in
      tried.add(lock.tryLock(for: .seconds(Int64.max)))
      lock.unlock()
    }
    #expect(tried.entries == [false, false, true])
  }

  @Test("an unlock of a recursive lock by another thread stops the process") func otherThread() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      RecursiveLock().unlock()
    }
    expectMessage(result, "csched_rlock_unlock:", "no thread does")
  }
}

@Suite(.nothingIsLeft) struct ReadWriteLockTests {
  @Test("writers are alone, and readers see their writes") func excludes() {
    let lock = ReadWriteLock(), torn = Counter()
    nonisolated(unsafe) var values = (0, 0)
    onThreads(8) { n in
      for _ in 0..<500 {
        if n % 4 == 0 {
          lock.withWriteLock {
            values.0 += 1
            values.1 += 1
          }
        } else if !lock.withReadLock({ values.0 == values.1 }) {
          torn.increment()
        }
      }
    }
    #expect(values == (1_000, 1_000) && torn.value == 0)
  }

  @Test("a timed wait takes the lock or gives up, and is not early") func timed() {
    struct Refusal: Error {}
    let lock = ReadWriteLock(), start = MonotonicTime.now
    synchronously { lock.lockForReading() }
    onThreads(1) { _ in
      #expect(!lock.tryLockForWriting() && !lock.tryLockForWriting(for: .milliseconds(20)))
      #expect(start.duration(to: .now) >= .milliseconds(20))
      #expect(!lock.tryLockForWriting(until: start.advanced(by: .milliseconds(40))))
      #expect(start.duration(to: .now) >= .milliseconds(40))
      for absurd: Duration in [.zero, .seconds(-1), .seconds(Int64.min)] {
        #expect(!lock.tryLockForWriting(for: absurd))
      }
      #expect(lock.tryLockForReading())
      lock.unlockForReading()
    }
    lock.unlockForReading()
    #expect(lock.tryLockForWriting(for: .seconds(Int64.max)))
    lock.preconditionWriter()
    onThreads(1) { _ in
      #expect(!lock.tryLockForReading() && !lock.tryLockForReading(for: .milliseconds(5)))
      #expect(!lock.tryLockForReading(until: .now))
    }
    lock.unlockForWriting()
    #expect(throws: Refusal.self) { try lock.withWriteLock { throw Refusal() } }
    #expect(throws: Refusal.self) { try lock.withReadLock { throw Refusal() } }
    #expect(lock.tryLockForWriting(until: MonotonicTime(nanoseconds: 0)))
    lock.unlockForWriting()
  }

  @Test("a writer that locks again stops the process, in Swift") func again() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let lock = ReadWriteLock()
      lock.withWriteLock { lock.withReadLock {} }
    }
    expectMessage(result, "csched_rwlock_lock_read:", "for writing already")
  }
}

@Suite(.nothingIsLeft) struct SemaphoreTests {
  @Test("no more are inside than there are units") func bounds() {
    let slots = CountingSemaphore(units: 3), inside = Protected(0), most = Protected(0)
    onThreads(8) { _ in
      for _ in 0..<500 {
        slots.wait()
        let now = inside.withLock { count in
          count += 1
          return count
        }
        most.withLock { $0 = max($0, now) }
        inside.withLock { $0 -= 1 }
        slots.signal()
      }
    }
    #expect(most.read() <= 3 && slots.freeUnits == 3)
  }

  @Test("a timed wait takes a unit or gives up, and is not early") func timed() {
    let semaphore = CountingSemaphore(), start = MonotonicTime.now
    synchronously {
      #expect(!semaphore.wait(for: .milliseconds(20)))
      #expect(start.duration(to: .now) >= .milliseconds(20))
      #expect(!semaphore.wait(until: start.advanced(by: .milliseconds(40))))
      #expect(start.duration(to: .now) >= .milliseconds(40))
      for absurd: Duration in [.zero, .seconds(-1), .seconds(Int64.min)] { #expect(!semaphore.wait(for: absurd)) }
      semaphore.signal(3)
      #expect(semaphore.wait(for: .seconds(Int64.max)) && semaphore.wait(for: .seconds(-1)) && semaphore.tryWait())
      #expect(!semaphore.tryWait() && semaphore.freeUnits == 0)
    }
  }

  @Test("numbers that cannot be stop the process") func misuse() async {
    expectMessage(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        _ = CountingSemaphore(units: -1)
      },
      "CountingSemaphore.init: -1 units cannot be")
    expectMessage(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        CountingSemaphore().signal(Int(Int32.max) + 1)
      }, "CountingSemaphore.signal: 2147483648 units cannot be")
    expectMessage(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        CountingSemaphore(units: Int(Int32.max)).signal()
      }, "CountingSemaphore.signal, csched_semaphore_signal:", "cannot have 1 more")
  }
}

@Suite(.nothingIsLeft) struct EnteredGroupTests {
  @Test("all pass a group that began entered when the last one has left, and see the members' writes") func opens() {
    let latch = ActionGroup(entered: 4), seen = Counter()
    nonisolated(unsafe) let done = UnsafeMutablePointer<Int>.allocate(capacity: 4)
    defer { done.deallocate() }
    onThreads(8) { n in
      if n < 4 {
        done[n] = n + 1
        return latch.leave()
      }
      latch.wait()
      if (0..<4).allSatisfy({ done[$0] == $0 + 1 }) { seen.increment() }
    }
    #expect(seen.value == 4 && latch.isIdle && latch.pendingCount == 0)
  }

  @Test("a timed wait for a group returns whether it is empty, and is not early") func timed() {
    let latch = ActionGroup(entered: 3), start = MonotonicTime.now
    synchronously {
      #expect(!latch.wait(for: .milliseconds(20)))
      #expect(start.duration(to: .now) >= .milliseconds(20))
      #expect(!latch.wait(until: start.advanced(by: .milliseconds(40))))
      #expect(start.duration(to: .now) >= .milliseconds(40))
      for absurd: Duration in [.zero, .seconds(-1), .seconds(Int64.min)] { #expect(!latch.wait(for: absurd)) }
      for _ in 0..<2 { latch.leave() }
      #expect(latch.pendingCount == 1 && !latch.isIdle)
      latch.leave()
      #expect(latch.wait(for: .seconds(-1)) && latch.wait(until: MonotonicTime(nanoseconds: 0)))
      #expect(ActionGroup(entered: 0).wait(for: .seconds(Int64.max)))
    }
  }

  @Test("numbers that cannot be stop the process") func misuse() async {
    expectMessage(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { _ = ActionGroup(entered: -1) },
      "ActionGroup.init: -1 entered cannot be")
    expectMessage(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        let group = ActionGroup(entered: 1)
        for _ in 0..<2 { group.leave() }
      },
      "csched_group_leave:")
  }
}

@Suite(.nothingIsLeft) struct WaitingActionTests {
  @Test("actions that wait leave their threads to those that end the waits") func onPool() {
    let scheduler = ConcurrentScheduler(), ready = UnfairLock.Condition(), count = Protected(0)
    let semaphore = CountingSemaphore(), latch = ActionGroup(entered: 1), ended = ActionGroup(entered: 24)
    for _ in 0..<24 {
      scheduler.schedule {
        count.withLock { $0 += 1 }
        count.withLock(on: ready, when: { $0 < 0 }) { _ in }
        semaphore.wait()
        latch.wait()
        ended.leave()
      }
    }
    #expect(eventually { count.read() == 24 })
    scheduler.schedule {
      count.write(-1)
      ready.broadcast()
      semaphore.signal(24)
      latch.leave()
    }
    synchronously { #expect(ended.wait(for: .seconds(60))) }
  }

  @Test("a wait on a loop's own thread holds its scheduler up until another thread ends it") func onLoop() throws {
    let scheduler = try ThreadScheduler(name: "waits"), latch = ActionGroup(entered: 1), log = Log<Int>(),
      ended = Gate()
    scheduler.schedule {
      latch.wait()
      log.add(1)
    }
    scheduler.schedule {
      log.add(2)
      ended.open()
    }
    #expect(log.entries.isEmpty)
    latch.leave()
    #expect(ended.wait())
    #expect(log.entries == [1, 2])
    scheduler.stop()
    scheduler.join()
  }
}
