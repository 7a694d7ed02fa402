// States: those of the job (job.c), of its end (ActionEnd.swift), and of its links, under `lock` (ActionChain.swift) · `disposed`: final,
//   written under the lock.
// Obligations
//   Y4  Whoever sees it disposed sees what was before that disposal.
//   Those of its links (Y1 to Y3, Y5) are in ActionChain.swift; it is waited for as in PlainAction.swift (I3).
// Orderings: the job's and the lock's; the store of `disposed` releases, pairs with `isDisposed`.
// Checked by: "a chain over two threads that return each other's disposables stays flat, and one dispose ends it".
// Models: swift/actions/actions.swift.

internal import CScheduler
internal import Synchronization

/// A closure that waits in a queue of the core, perhaps for a time, and the disposable that cancels it and disposes what the
/// closure has returned: one allocation for all.
final class ScheduledAction: ChainedAction, JobOwner, @unchecked Sendable {
  // Unchecked, because the compiler does not see who may touch what: `body` belongs to whoever moved the job's state on, its
  // runner or its canceller; `links` is guarded by `lock`.

  enum Body {
    case plain(@Sendable () -> Void)
    case disposing(@Sendable () -> any Disposable)
  }

  private let counted = CountedDisposable()
  private let storage = TimerStorage()
  private let lock = InlineLock()
  private let disposed = Atomic(false)  // written under the lock
  private let ending = ActionEnd()
  @exclusivity(unchecked) private var held: CountedClosure?
  @exclusivity(unchecked) private var body: Body?
  @exclusivity(unchecked) private var links = ActionLinks<ScheduledAction>()
  /// What the body runs inside of, besides what it is submitted to.
  private let tag: TargetCore?
  /// Of a delayed action: keeps the core's memory for as long as it can be cancelled. It is in use until the action is over.
  private let core: TargetCore?

  /// Makes one that runs `body`; with a `core`, one that may be delayed.
  init(_ body: consuming Body, inside tag: TargetCore? = nil, delayedOn core: TargetCore? = nil) {
    self.body = body
    held = CountedClosure()
    self.tag = tag
    self.core = core
    scheduledJobType.attach(storage.timer, to: self)
  }

  deinit {
    guard links.isOver, let returned = links.returned.take() else { return }
    DisposalWalk.release { $0.push(returned) }
  }

  /// Hands the job to `queue`, with a reference that its release gives back.
  func submit<Result>(to queue: (UnsafeMutablePointer<csched_job>) -> Result) -> Result {
    Counted.jobs(1)
    _ = Unmanaged.passRetained(self)
    return queue(storage.job)
  }

  /// The same for a delayed one.
  func submitTimer<Result>(to queue: (UnsafeMutablePointer<csched_timer>) -> Result) -> Result {
    Counted.jobs(1)
    _ = Unmanaged.passRetained(self)
    core?.use()
    return queue(storage.timer)
  }

  // MARK: the core's side

  func run() {
    perform()
    held = nil
    ending.endRun()
  }

  private func perform() {
    switch body.take()! {
    case .plain(let work):
      if let tag { tag.run(work) } else { work() }
      settle(nil)
    case .disposing(let work):
      let returned = tag?.run(work) ?? work()
      settle(type(of: returned) == NopDisposable.self ? nil : returned)
    }
  }

  func drop() {
    ending.within {
      body = nil
      held = nil
      let holder = withLinks { links, _ in links.end() }
      _ = consume holder
    }
    ending.end()
  }

  @inline(__always)
  func withLinks<Result>(_ body: (inout ActionLinks<ScheduledAction>, Bool) -> Result) -> Result {
    lock.withLock { body(&links, disposed.load(ordering: .relaxed)) }  // ordered by the lock
  }

  func letGo() {
    core?.letGo()
    ending.endIfForgotten()
  }

  // MARK: the user's side

  var isDisposed: Bool {
    disposed.load(ordering: .acquiring) || ending.isOver  // Y4: acquire; pairs with detachChildren
  }

  // Speed only: most have nothing below them, and need no walk (a fifth of the time of a timer and its cancellation).
  func dispose() { if let returned = detach() { DisposalWalk.disposeChild(returned) } }

  func detachChildren(into walk: inout DisposalWalk) { if let returned = detach() { walk.push(returned) } }

  /// Cancels the job, and hands out what is to be disposed with it: to the first who asks.
  private func detach() -> (any Disposable)? {
    let (isFirst, returned) = withLinks { links, isDisposed in
      disposed.store(true, ordering: .releasing)  // Y4: release; pairs with isDisposed
      return (!isDisposed, links.returned.take())
    }
    guard isFirst else { return nil }
    if core == nil { csched_job_cancel(storage.job) } else { csched_timer_cancel(storage.timer) }
    return returned
  }

  func awaitEnd() { ending.wait(for: storage.job) }
}

private let scheduledJobType = JobType(
  csched_job_type(
    run: { JobType.on($0, ScheduledAction.self) { $0.run() } },
    drop: { JobType.on($0, ScheduledAction.self) { $0.drop() } },
    release: { JobType.release($0, ScheduledAction.self) }))
