// A recurring event that threads wait for, under a lock of the event's owner.
// States of `count`: how often the event has happened.
// Invariants
//   OC1  No lost wake. A waiter checks its condition, and takes the mark, under the owner's lock. A thread that changes the condition under the
//        lock then increments the count, and wakes. So the sleep finds a different count, or is woken.
// Orderings: the lock's; the waiter checks its condition again under it.
// Assumes: fewer than 2^32 events between the check and the sleep.
// Checked by: "disposeAndWait returns after the running action has ended, whichever thread drives virtual time",
//   "disposeAndWait waits for the step of a recursion".
// Models: swift/virtual/virtual.swift.

internal import CScheduler
internal import Synchronization

/// A recurring event that threads wait for, under a lock of the event's owner.
struct Occurrence: ~Copyable {
  private let count = Atomic<UInt32>(0)

  /// The number of events until now. Requires the lock.
  var mark: UInt32 { count.load(ordering: .relaxed) }  // OC1: under the lock

  /// Sleeps until an event follows those counted in `mark`. May return early.
  func wait(since mark: UInt32) { sleep(while: mark, in: count) }

  /// Counts an event, and wakes all waiters.
  func happen() {
    count.add(1, ordering: .relaxed)  // OC1: after the change under the lock
    wake(count)
  }
}

/// Sleeps while `word` is `value`. May return early. On a pool thread, another thread takes its place.
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
