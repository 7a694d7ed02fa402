// States: those of the job (job.c), of its end (ActionEnd.swift), and of its links, under `lock` · `disposed`: final, written under the lock
//   `isOver`  final; `holder` stays nil
//   disposed  final; `returned` stays nil
// Obligations
//   Y1  What the body returns is disposed once if the action is disposed, before that or after; else never.
//   Y2  When an action and what it returned have both run, the first leads to what the second returned, and the second is gone.
//   Y3  An action that is over has no holder: no two keep each other.
//   Y4  Whoever sees it disposed sees what was before that disposal.
//   Y5  Who waits for an action that was disposed while it ran gets what the body returned, if he announced that before.
//   Who disposes and waits returns after the run, or the drop, by whichever thread (ActionEnd.swift).
// Orderings: the job's and the lock's; the store of `disposed` releases, pairs with `isDisposed`. Assumes: none of two locks is taken inside of
//   the other.
// Checked by: "a chain over two threads that return each other's disposables stays flat, and one dispose ends it",
//   "a chain of actions that return each other's disposables stays flat, and its head disposes the last",
//   "disposeAndWait waits for what the running action returns".
// Models: swift/actions/actions.swift.

internal import CScheduler
internal import Synchronization

/// What an action leads to, and who leads to it.
struct ActionLinks {
  /// What the body returned, or what that has led to.
  var returned: (any Disposable)?
  /// The action that holds this one as what it returned. Only until this one is over, or the two would keep each other.
  var holder: ScheduledAction?
  /// Whether the body has run, or never will.
  var isOver = false
  /// For those who wait for the end of the body, until it has ended.
  var late: LateReturn?

  /// Becomes over without a result, and hands out the holder, to be released outside of the lock.
  mutating func end() -> ScheduledAction? {
    isOver = true
    return holder.take()
  }
}

/// A closure that waits in a queue of the core, perhaps for a time, and the disposable that cancels it and disposes what the
/// closure has returned: one allocation for all.
///
/// A chain of actions, each of which schedules the next and returns its disposable, stays flat: when an action has run, the
/// one that holds it takes over what it returned. So the first of them always leads straight to the last, and those between
/// are gone.
final class ScheduledAction: AwaitedNode, JobOwner, @unchecked Sendable {
  // Unchecked, because the compiler does not see who may touch what: `body` belongs to whoever moved the job's state on, its
  // runner or its canceller; `links` is guarded by `lock`.

  enum Body {
    case plain(@Sendable () -> Void)
    case disposing(@Sendable () -> any Disposable)

    /// The same after `first`, if there is one.
    consuming func preceded(by first: (@Sendable () -> Void)?) -> Body {
      guard let first else { return self }
      switch self {
      case .plain(let work):
        return .plain {
          first()
          work()
        }
      case .disposing(let work):
        return .disposing {
          first()
          return work()
        }
      }
    }
  }

  private let counted = CountedDisposable()
  private let storage = TimerStorage()
  private let lock = InlineLock()
  private let disposed = Atomic(false)  // written under the lock
  private let report = DropReport()
  private let ending = ActionEnd()
  @exclusivity(unchecked) private var held: CountedClosure?
  @exclusivity(unchecked) private var body: Body?
  @exclusivity(unchecked) private var links = ActionLinks()
  private let origin: ActionOrigin
  /// Of a delayed action: keeps the core's memory for as long as it can be cancelled. It is in use until the action is over.
  private let core: TargetCore?

  /// Makes one for `core` that runs `body`; one that may be delayed, if so.
  init(_ body: consuming Body, for core: TargetCore? = nil, inside tag: TargetCore? = nil, isDelayed: Bool = false) {
    self.body = body
    held = CountedClosure()
    origin = ActionOrigin(core, tag: tag)
    self.core = isDelayed ? core : nil
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

  /// The same for a target's submission of it, or of its timer. Returns whether it was accepted.
  @inline(__always)
  func submit(by submission: (borrowing TimerStorage) -> Int32) -> Bool {
    core?.use()
    return report.during({ submit { _ in submission(storage) } }) { origin.tell(.refused) }
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
      if origin.isTagged { origin.run(work) } else { work() }
      settle(nil)
    case .disposing(let work):
      let returned = origin.isTagged ? origin.run(work) : work()
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
    report.drop(disposed: disposed) { origin.tell(.stopped) }
  }

  @inline(__always)
  func withLinks<Result>(_ body: (inout ActionLinks, Bool) -> Result) -> Result {
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

  // MARK: chains

  /// Becomes over: keeps what the body returned, and leads the holder to it.
  @inline(__always)
  func settle(_ result: (any Disposable)?) {
    let returned = EndedAction.end(of: result)  // or a chain over the immediate scheduler would not stay flat
    let (isLate, holder) = withLinks { links, isDisposed in
      let holder = links.end(), late = links.late.take()
      if isDisposed { late?.returned = returned } else { links.returned = returned }
      return (isDisposed, holder)
    }
    if isLate { returned?.dispose() }
    if let holder { holder.replace(self, by: isLate ? nil : returned) } else if !isLate { hold(returned) }
  }

  /// Takes over `next` from `old`, which has run, if this one still leads to it. If it has been disposed, it leads to nothing:
  /// it has disposed `old`, and `old` this `next`.
  private func replace(_ old: ScheduledAction, by next: (any Disposable)?) {
    let isReplaced = withLinks { links, _ in
      guard links.returned as AnyObject? === old else { return false }
      links.returned = next
      return true
    }
    if isReplaced { hold(next) }
  }

  /// Makes this one the holder of `next`; one that has run already is passed over.
  private func hold(_ next: (any Disposable)?) {
    guard let next = next as? ScheduledAction else { return }
    var other: ScheduledAction? = self  // who held it before ends outside of the lock
    let (isOver, further) = next.withLinks { links, _ in
      if !links.isOver { swap(&links.holder, &other) }
      return (links.isOver, links.isOver ? links.returned : nil)
    }
    if isOver { replace(next, by: further) }
  }

  // MARK: waiting

  func beginWait() -> LateReturn {
    withLinks { links, _ in
      let late = links.late ?? LateReturn()
      if !links.isOver { links.late = late }
      return late
    }
  }

  func endWait(_ late: LateReturn) -> (any Disposable)? {
    ending.wait(for: storage.job)
    return withLinks { _, _ in late.returned }
  }
}

private let scheduledJobType = JobType(
  csched_job_type(
    run: { JobType.on($0, ScheduledAction.self) { $0.run() } },
    drop: { JobType.on($0, ScheduledAction.self) { $0.drop() } },
    release: { JobType.release($0, ScheduledAction.self) }))
