// A recurring event that threads wait for, as a condition variable does. The event's owner has a lock, which guards the
// condition of the waiters.
// States of `count`: how often the event has happened.
// Invariants
//   OC1  No lost wakeup. A waiter checks its condition and reads `mark` under the owner's lock. A thread changes the
//        condition under the lock, then increments the count, then wakes. So a waiter with an old mark finds another
//        count and does not sleep, or it is woken.
// Orderings: those of the owner's lock, under which the waiter checks its condition again.
// Assumes: fewer than 2^32 events between the check and the sleep.
// Models: swift/virtual/virtual.swift.

internal import CScheduler
internal import Synchronization

struct Occurrence: ~Copyable {
  private let count = Atomic<UInt32>(0)

  /// The number of events so far. Requires: the caller holds the owner's lock.
  // OC1: relaxed is enough: the caller holds the lock, so a later change of the condition increments the count after
  // this load
  var mark: UInt32 { count.load(ordering: .relaxed) }

  /// Sleeps until an event follows the events that `mark` counts. May return early: the caller checks its condition
  /// again.
  func wait(since mark: UInt32) { sleep(while: mark, in: count) }

  /// Counts an event, and wakes all waiters. Requires: the caller has changed the waiters' condition, under the owner's
  /// lock.
  func signal() {
    // OC1: after the change of the condition, so a waiter with this count sees the change
    count.add(1, ordering: .relaxed)
    wake(count)  // after the add: a waiter that falls asleep now finds another count, and returns
  }
}

/// Sleeps while `word` is `value`, until a call of `wake` with `word`. May return early. During the sleep another
/// thread replaces a pool thread.
func sleep(while value: UInt32, in word: borrowing Atomic<UInt32>) {
  csched_pool_blocking_begin()
  defer { csched_pool_blocking_end() }
  csched_swift_wait_(address(of: word), value)
}

/// Wakes all threads that sleep on `word`.
func wake(_ word: borrowing Atomic<UInt32>) { csched_swift_wake_(address(of: word)) }

/// Returns the futex word for the C core. `Atomic` never moves.
private func address(of word: borrowing Atomic<UInt32>) -> UnsafeMutablePointer<UInt32> {
  withUnsafePointer(to: word) { UnsafeMutableRawPointer(mutating: $0).assumingMemoryBound(to: UInt32.self) }
}
