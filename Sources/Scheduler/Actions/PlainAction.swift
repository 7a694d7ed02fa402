// States: those of the job (job.c), and of its end (ActionEnd.swift) · `disposed`: final, and only a mark.
// Obligations
//   I1  The work runs or is dropped, once; dropped or run, its captures are gone when that is over.
//   I2  Whoever sees it disposed sees what was before that disposal.
//   I3  Who disposes and waits returns after the run, or the drop, by whichever thread.
// Orderings: the job's; the store of `disposed` releases, pairs with `isDisposed`.
// Checked by: "cancel against run: each action runs or is dropped, once",
//   "disposeAndWait returns after the running action has ended, and what it did is visible".
// Models: swift/actions/actions.swift.

internal import CScheduler
internal import Synchronization

/// A closure that waits in a queue of the core, and the disposable that cancels it: one small allocation for both.
///
/// It can neither be delayed nor keep what the closure returns: see ``ScheduledAction``, at more than twice the size.
final class PlainAction: Cancelable, JobOwner, @unchecked Sendable {
  // Unchecked, because the compiler does not see that `work` belongs to whoever moved the job's state on: its runner or its
  // canceller.
  private let counted = CountedDisposable()
  private let storage = JobStorage()
  private let disposed = Atomic(false)
  private let report = DropReport()
  private let ending = ActionEnd()
  @exclusivity(unchecked) private var work: HeldClosure?
  private let origin: ActionOrigin

  /// Makes one for `core` that runs `work`, inside of `tag` if there is one. Drops of one for nobody are not told.
  init(_ work: @escaping @Sendable () -> Void, for core: TargetCore? = nil, inside tag: TargetCore? = nil) {
    self.work = HeldClosure(work)
    origin = ActionOrigin(core, tag: tag)
    plainJobType.attach(storage.job, to: self)
  }

  /// Hands the job to `queue`, with a reference that its release gives back.
  @inline(__always)
  func submit<Result>(to queue: (UnsafeMutablePointer<csched_job>) -> Result) -> Result {
    Counted.jobs(1)
    _ = Unmanaged.passRetained(self)
    return queue(storage.job)
  }

  /// The same for `core`'s target. Returns whether it was accepted; if not, and `isTold` of otherwise, no observer of drops is told.
  func submit(to core: TargetCore, isTold: Bool) -> Bool {
    report.during({ submit { csched_target_submit(core.target, $0) } }, isTold: isTold) { origin.tell(.refused) }
  }

  /// Calls `body` with the job, to look at.
  func lookAt(_ body: (UnsafePointer<csched_job>) -> Void) { body(storage.job) }

  func run() {
    let work = work.take()!
    if origin.isTagged { origin.run(work.call) } else { work.call() }
    _ = consume work
    ending.endRun()
  }

  func drop() {
    ending.within { work = nil }
    ending.end()
    report.drop(disposed: disposed) { origin.tell(.stopped) }
  }

  func letGo() { ending.endIfForgotten() }

  var isDisposed: Bool {
    disposed.load(ordering: .acquiring) || ending.isOver  // I2: acquire; pairs with dispose
  }

  func dispose() {
    disposed.store(true, ordering: .releasing)  // I2: release; pairs with isDisposed
    csched_job_cancel(storage.job)
  }

  func disposeAndWait() {
    dispose()
    ending.wait(for: storage.job)  // I3
  }
}

private let plainJobType = JobType(
  csched_job_type(
    run: { JobType.on($0, PlainAction.self) { $0.run() } },
    drop: { JobType.on($0, PlainAction.self) { $0.drop() } },
    release: { JobType.release($0, PlainAction.self) }))
