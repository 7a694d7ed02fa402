// States of `word`
//   0        the action waits, runs, or is being dropped
//   OVER     final: its run has ended, or its drop
//   AWAITED  besides, before OVER: somebody sleeps until it is over
// `inside`: the thread that is in the action's code without the core knowing: in its drop, in a tick; otherwise 0
// Obligations
//   AE1  Over is final. Whoever sees it sees what the run did, and the closure and its captures are gone.
//   AE2  No missed wake: who makes it over by an exchange wakes whom it finds AWAITED. The store of `endRun` may overwrite AWAITED, and
//        wakes nobody: while the job is running, it is the core that is waited with.
//   AE3  A thread that is inside does not wait for itself.
// Orderings
//   word: release, pairs with `isOver` and the waiter's acquire, carries the end · inside: relaxed, only its own thread finds itself there
// Assumes: a thread that ends inside of a run has it ended by the job's release.
// Checked by: "what is over says that it is disposed", "what is dropped says that it is disposed",
//   "of several threads that dispose and wait, each returns when the captures are gone".
// Models: swift/actions/ends.swift.

internal import CScheduler
internal import Synchronization

/// Whether an action is over, for whoever asks or waits.
struct ActionEnd: ~Copyable {
  private static let over: UInt32 = 1
  private static let awaited: UInt32 = 2

  private let word = Atomic<UInt32>(0)
  private let inside = Atomic<UInt>(0)

  /// Whether it is over: it has run to its end, or never will.
  var isOver: Bool {
    word.load(ordering: .acquiring) & Self.over != 0  // AE1: acquire; pairs with the end
  }

  /// Follows a run that the core can wait for.
  @inline(__always)
  func endRun() {
    word.store(Self.over, ordering: .releasing)  // AE1: release; pairs with isOver; AE2
  }

  /// Calls `body`, which is in the action's code: a tick, or the end of what a drop lets go of.
  func within(_ body: () -> Void) {
    inside.store(csched_swift_thread_(), ordering: .relaxed)  // AE3: found by this thread only
    body()
    inside.store(0, ordering: .relaxed)  // AE3: the same
  }

  /// Follows everything else that ends it.
  func end() {
    let old = word.exchange(Self.over, ordering: .releasing)  // AE1, AE2: release; pairs with isOver and wait
    if old & Self.awaited != 0 { wake(word) }
  }

  /// The job has been released: whatever it was, it has ended.
  @inline(__always)
  func endIfForgotten() {
    // racy read: whoever has ended it did so before the release
    if word.load(ordering: .relaxed) & Self.over == 0 { end() }
  }

  /// Waits until the action of `job`, which has been disposed, is over; not on a thread that is inside of it.
  func wait(for job: UnsafeMutablePointer<csched_job>) {
    // It may be over, or another thread be dropping it, or be about to.
    guard csched_job_cancel(job) == CSCHED_CANCEL_RUNNING else { return wait() }
    csched_pool_blocking_begin()
    let found = csched_job_cancel_and_wait(job)
    csched_pool_blocking_end()
    // AE1: it has ended in between; one that ended its thread is over with the release, which may be yet to come
    if found != CSCHED_CANCEL_RUNNING { wait() }
  }

  /// Waits until it is over, unless this thread is inside. Requires that the job is not running, or that its run ends by ``end()``.
  func wait() {
    while !isOver, inside.load(ordering: .relaxed) != csched_swift_thread_() {  // AE3
      let old = word.bitwiseOr(Self.awaited, ordering: .relaxed).oldValue  // AE2: the sleep looks at the word again
      if old & Self.over == 0 { sleep(while: Self.awaited, in: word) }
    }
  }
}
