// States: those of the job (job.c), and under `lock`
//   `disposed`  final; `links.returned` stays nil
//   `isOver`    final; `links.holder` stays nil
// Obligations
//   Y1  What the body returns is disposed once if the action is disposed, before that or after; else never.
//   Y2  When an action and what it returned have both run, the first leads to what the second returned, and the second is gone.
//   Y3  An action that is over has no holder: no two keep each other.
//   Y4  Whoever sees it disposed sees what was before that disposal.
// Orderings: the job's and the lock's; the store of `disposed` releases, pairs with `isDisposed`.
// Assumes: none of two locks is taken inside of the other.
// Checked by: "a chain over two threads that return each other's disposables stays flat, and one dispose ends it".
// Models: swift/actions/actions.swift.

internal import CScheduler
internal import Synchronization

/// A closure that waits in a queue of the core, perhaps for a time, and the disposable that cancels it and disposes what the
/// closure has returned: one allocation for all.
///
/// A chain of actions, each of which schedules the next and returns its disposable, stays flat: when an action has run, the
/// one that holds it takes over what it returned. So the first of them always leads straight to the last, and those between
/// are gone.
final class ScheduledAction: DisposalNode, JobOwner, @unchecked Sendable {
  // Unchecked, because the compiler does not see who may touch what: `body` belongs to whoever moved the job's state on, its
  // runner or its canceller; `links` is guarded by `lock`.

  enum Body {
    case plain(@Sendable () -> Void)
    case disposing(@Sendable () -> any Disposable)
  }

  private struct Links {
    /// What the body returned, or what that has led to.
    var returned: (any Disposable)?
    /// The action that holds this one as what it returned. Only until this one is over, or the two would keep each other.
    var holder: ScheduledAction?
    /// Whether the body has run, or never will.
    var isOver = false
  }

  private let counted = CountedDisposable()
  private let storage = TimerStorage()
  private let lock = InlineLock()
  private let disposed = Atomic(false)  // written under the lock
  @exclusivity(unchecked) private var held: CountedClosure?
  @exclusivity(unchecked) private var body: Body?
  @exclusivity(unchecked) private var links = Links()
  /// What the body runs inside of, besides what it is submitted to.
  private let place: TargetCore?
  /// Of a delayed action: keeps the core's memory for as long as it can be cancelled. It is in use until the action is over.
  private let core: TargetCore?

  /// Makes one that runs `body`; with a `core`, one that may be delayed.
  init(_ body: consuming Body, inside place: TargetCore? = nil, delayedOn core: TargetCore? = nil) {
    self.body = body
    held = CountedClosure()
    self.place = place
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
    switch body.take()! {
    case .plain(let work):
      if let place { place.run(work) } else { work() }
      settle(nil)
    case .disposing(let work):
      let returned = place?.run(work) ?? work()
      settle(type(of: returned) == NopDisposable.self ? nil : returned)
    }
    held = nil
  }

  /// Keeps what the body returned, and leads the holder to it.
  private func settle(_ returned: (any Disposable)?) {
    let (isLate, holder) = lock.withLock {
      links.isOver = true
      let isLate = disposed.load(ordering: .relaxed)  // hint: under the lock the lock orders it
      if !isLate { links.returned = returned }
      return (isLate, links.holder.take())
    }
    if isLate { returned?.dispose() }
    if let holder { holder.replace(self, by: isLate ? nil : returned) } else if !isLate { hold(returned) }
  }

  /// Takes over `next` from `old`, which has run, if this one still leads to it. If it has been disposed, it leads to nothing:
  /// it has disposed `old`, and `old` this `next`.
  private func replace(_ old: ScheduledAction, by next: (any Disposable)?) {
    let isReplaced = lock.withLock {
      guard links.returned as AnyObject? === old else { return false }
      links.returned = next
      return true
    }
    if isReplaced { hold(next) }
  }

  /// Makes this one the holder of `next`; one that has run already is passed over.
  private func hold(_ next: (any Disposable)?) {
    guard let next = next as? ScheduledAction else { return }
    let (isOver, further) = next.lock.withLock {
      if !next.links.isOver { next.links.holder = self }
      return (next.links.isOver, next.links.isOver ? next.links.returned : nil)
    }
    if isOver { replace(next, by: further) }
  }

  func drop() {
    body = nil
    held = nil
    let holder = lock.withLock {
      links.isOver = true
      return links.holder.take()
    }
    _ = consume holder
  }

  func letGo() { core?.letGo() }

  // MARK: the user's side

  var isDisposed: Bool { disposed.load(ordering: .acquiring) }  // Y4: acquire; pairs with detachChildren

  // Speed only: most have nothing below them, and need no walk (a fifth of the time of a timer and its cancellation).
  func dispose() { if let returned = detach() { DisposalWalk.disposeChild(returned) } }

  func detachChildren(into walk: inout DisposalWalk) { if let returned = detach() { walk.push(returned) } }

  /// Cancels the job, and hands out what is to be disposed with it: to the first who asks.
  private func detach() -> (any Disposable)? {
    let (isFirst, returned) = lock.withLock {
      let isFirst = !disposed.load(ordering: .relaxed)  // hint: under the lock the lock orders it
      disposed.store(true, ordering: .releasing)  // Y4: release; pairs with isDisposed
      return (isFirst, links.returned.take())
    }
    guard isFirst else { return nil }
    if core == nil { csched_job_cancel(storage.job) } else { csched_timer_cancel(storage.timer) }
    return returned
  }
}

private let scheduledJobType = JobType(
  csched_job_type(
    run: { JobType.on($0, ScheduledAction.self) { $0.run() } },
    drop: { JobType.on($0, ScheduledAction.self) { $0.drop() } },
    release: { JobType.release($0, ScheduledAction.self) }))
