// A recurring event that threads wait for. The event's owner has a lock that guards the waiters' condition.
// States of `count`: how often the event has happened.
// Invariants
//   OC1  No lost wakeup. A waiter checks its condition and reads `mark` under the owner's lock. A thread that changes the condition does so under the
//        lock, then increments the count, then wakes. So a waiter reads a count other than its mark and does not sleep, or it is woken.
// Orderings: those of the owner's lock, under which the waiter checks its condition again.
// Assumes: fewer than 2^32 events between the check and the sleep.
// Checked by: "disposeAndWait returns after the running action has ended, whichever thread drives virtual time",
//   "disposeAndWait waits for the step of a recursion".
// Models: swift/virtual/virtual.swift.

internal import CScheduler
internal import Synchronization

struct Occurrence: ~Copyable {
  private let count = Atomic<UInt32>(0)

  /// The number of events so far. Requires: the caller holds the owner's lock.
  var mark: UInt32 { count.load(ordering: .relaxed) }  // OC1: under the lock

  /// Sleeps until an event follows the events counted in `mark`. May return early.
  func wait(since mark: UInt32) { sleep(while: mark, in: count) }

  /// Counts an event, and wakes all waiters.
  func happen() {
    count.add(1, ordering: .relaxed)  // OC1: after the change under the lock
    wake(count)
  }
}

/// Sleeps while `word` is `value`. May return early. While a pool thread sleeps, another thread replaces it in the pool.
func sleep(while value: UInt32, in word: borrowing Atomic<UInt32>) {
  csched_pool_blocking_begin()
  defer { csched_pool_blocking_end() }
  csched_swift_wait_(address(of: word), value)
}

/// Wakes all threads that sleep on `word`.
func wake(_ word: borrowing Atomic<UInt32>) { csched_swift_wake_(address(of: word)) }

private func address(of word: borrowing Atomic<UInt32>) -> UnsafeMutablePointer<UInt32> {
  withUnsafePointer(to: word) { UnsafeMutableRawPointer(mutating: $0).assumingMemoryBound(to: UInt32.self) }
}
