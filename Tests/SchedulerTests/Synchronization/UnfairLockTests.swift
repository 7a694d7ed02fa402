import Foundation
import Scheduler
import TestSupport
import Testing

@Suite(.nothingIsLeft) struct UnfairLockTests {
  @Test("the lock excludes")  // LK1
  func excludes() {
    let lock = UnfairLock()
    nonisolated(unsafe) var count = 0
    onThreads(8) { _ in
      for _ in 0..<5_000 { lock.withLock { count += 1 } }
    }
    #expect(count == 40_000)
  }

  @Test("withLock returns its body's value or error, and unlocks")
  func passesThrough() {
    struct Refusal: Error {}
    let lock = UnfairLock()
    #expect(lock.withLock { 3 } == 3)
    #expect(throws: Refusal.self) { try lock.withLock { throw Refusal() } }
    #expect(lock.tryLock())
    lock.preconditionOwner()
    lock.unlock()
    lock.preconditionNotOwner()
  }

  @Test("a timed lock waits no less than its timeout, and no more than it must")
  func timed() {
    let lock = UnfairLock(), locked = Gate(), release = Gate()
    Thread.detachNewThread {
      lock.lock()
      locked.open()
      release.wait()
      lock.unlock()
    }
    locked.wait()
    let start = ContinuousClock.now
    #expect(!lock.tryLock(for: .milliseconds(20)))
    #expect(ContinuousClock.now - start >= .milliseconds(20))
    for absurd: Duration in [.zero, .seconds(-1), .nanoseconds(-1), .nanoseconds(1)] {
      #expect(!lock.tryLock(for: absurd))
    }
    release.open()
    #expect(lock.tryLock(for: .seconds(Int64.max)))
    lock.unlock()
  }

  @Test("an unlock by another thread stops the process, and names both threads")
  func otherThread() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let lock = UnfairLock()
      synchronously { lock.lock() }
      try ThreadScheduler(name: "other").schedule { lock.unlock() }
      sleep(5)
      exit(0)
    }
    let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    expectMessage(result, "csched_lock_unlock", "(other)")
    #expect(message.components(separatedBy: "thread ").count >= 3, "both threads are named")
  }
}
