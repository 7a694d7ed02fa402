// States of `count`: how often it has happened.
// Obligations
//   OC1  No missed wake. Who waits has looked, under the owner's lock, at what is waited for, and has taken the mark there; who changes
//        that under the lock then changes the count, and wakes. So the sleep begins with another count, or is woken.
// Orderings: the lock's; what is waited for is looked at again under it.
// Assumes: fewer than 2^32 times between the look and the sleep.
// Checked by: "disposeAndWait returns after the running action has ended, whoever drives virtual time",
//   "disposeAndWait waits for the step of a recursion".
// Models: swift/virtual/virtual.swift.

internal import CScheduler
internal import Synchronization

/// Something that is waited for under a lock of its owner's, and happens again and again.
struct Occurrence: ~Copyable {
  private let count = Atomic<UInt32>(0)

  /// How often it has happened. Under the lock.
  var mark: UInt32 { count.load(ordering: .relaxed) }  // OC1: under the lock

  /// Sleeps until it has happened since `mark`; may return early.
  func wait(since mark: UInt32) { sleep(while: mark, in: count) }

  /// Wakes all that wait.
  func happen() {
    count.add(1, ordering: .relaxed)  // OC1: after the change under the lock
    wake(count)
  }
}

/// Sleeps while `word` is `value`; may return early. On a thread of the pool another one takes its place.
func sleep(while value: UInt32, in word: borrowing Atomic<UInt32>) {
  csched_pool_blocking_begin()
  defer { csched_pool_blocking_end() }
  csched_swift_wait_(address(of: word), value)
}

/// Wakes all that sleep on `word`.
func wake(_ word: borrowing Atomic<UInt32>) { csched_swift_wake_(address(of: word)) }

private func address(of word: borrowing Atomic<UInt32>) -> UnsafeMutablePointer<UInt32> {
  withUnsafePointer(to: word) { UnsafeMutableRawPointer(mutating: $0).assumingMemoryBound(to: UInt32.self) }
}
