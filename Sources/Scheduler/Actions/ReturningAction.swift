// States: those of the task (task.c), and of the links, under `lock` · `disposed`: final, written under the lock
//   `isOver`  final; `holder` stays nil
//   disposed  final; `returned` stays nil
// Obligations
//   Y1  What the body returns is disposed once if the action is disposed, before that or after; else never.
//   Y2  When an action and what it returned have both run, the first leads to what the second returned, and the second is gone.
//   Y3  An action that is over has no holder: no two keep each other.
//   Y4  Whoever sees it disposed sees what was before that disposal.
//   Y5  Who waits for an action that was disposed while it ran gets what the body returned, if he announced that before.
// Orderings: the task's and the lock's; the store of `disposed` releases, pairs with `isDisposed`. Assumes: none of two locks is taken inside of
//   the other.
// Checked by: "a chain over two threads that return each other's disposables stays flat, and one dispose ends it",
//   "a chain of actions that return each other's disposables stays flat, and its head disposes the last",
//   "disposeAndWait waits for what the running action returns",
//   "of several threads that wait for a running action, each waits for what it returns".
// Models: swift/actions/actions.swift.

internal import CScheduler
internal import Synchronization

/// What an action leads to, and who leads to it.
struct ActionLinks {
  /// What the body returned, or what that has led to.
  var returned: (any Disposable)?
  /// The action that holds this one as what it returned. Only until this one is over, or the two would keep each other.
  var holder: ReturningAction?
  /// Whether the body has run, or never will.
  var isOver = false
  /// For those who wait for the end of the body, until it has ended.
  var late: LateReturn?

  /// Becomes over without a result, and hands out the holder, to be released outside of the lock.
  mutating func end() -> ReturningAction? {
    isOver = true
    return holder.take()
  }
}

/// What cancels a task whose closure returns a disposable, and disposes that.
///
/// A chain of actions, each of which schedules the next and returns its disposable, stays flat: when an action has run, the
/// one that holds it takes over what it returned. So the first of them always leads straight to the last, and those between
/// are gone.
///
/// The closure holds it, and ends by calling ``settle(_:)``.
package final class ReturningAction: AwaitedNode, @unchecked Sendable {
  // Unchecked, because the compiler does not see who may touch what: `task` is written before it is submitted; `links` is guarded by `lock`.
  private let counted = CountedDisposable()
  private let lock = InlineLock()
  private let disposed = Atomic(false)  // written under the lock
  @exclusivity(unchecked) private var links = ActionLinks()
  @exclusivity(unchecked) var task = ClosureTask()
  /// Used in place of `task` on a scheduler of another module. Set before the action is returned to its caller.
  @exclusivity(unchecked) private var forwarded: ForwardedTask?

  package init() {}

  /// Has `submit` schedule `body` on any scheduler.
  package static func submit(
    _ body: @escaping @Sendable () -> any Disposable, by submit: (@escaping @Sendable () -> Void) -> any Disposable
  ) -> ReturningAction {
    let action = ReturningAction(), run = ReturningBody(body, of: action)
    action.forwarded = ForwardedTask(submit { run.call() })
    return action
  }

  deinit {
    guard links.isOver, let returned = links.returned.take() else { return }
    DisposalWalk.release { $0.push(returned) }
  }

  /// Follows the end of the closure, which was not called.
  func drop() {
    let holder = withLinks { links, _ in links.end() }
    _ = consume holder
  }

  @inline(__always)
  func withLinks<Result>(_ body: (inout ActionLinks, Bool) -> Result) -> Result {
    lock.withLock { body(&links, disposed.load(ordering: .relaxed)) }  // ordered by the lock
  }

  // MARK: the user's side

  package var isDisposed: Bool {
    // Y4: acquire; pairs with detach
    disposed.load(ordering: .acquiring) || (forwarded?.token.isDisposed ?? task.isDisposed)
  }

  // Speed only: most have nothing below them, and need no walk (a fifth of the time of a timer and its cancellation).
  package func dispose() { if let returned = detach() { DisposalWalk.disposeChild(returned) } }

  package func detachChildren(into walk: inout DisposalWalk) { if let returned = detach() { walk.push(returned) } }

  /// Cancels the task, and hands out what is to be disposed with it: to the first who asks.
  private func detach() -> (any Disposable)? {
    let (isFirst, returned) = withLinks { links, isDisposed in
      disposed.store(true, ordering: .releasing)  // Y4: release; pairs with isDisposed
      return (!isDisposed, links.returned.take())
    }
    guard isFirst else { return nil }
    if let forwarded { forwarded.token.dispose() } else { task.dispose() }
    return returned
  }

  // MARK: chains

  /// Becomes over: keeps what the body returned, and leads the holder to it.
  package func settle(_ result: any Disposable) {
    // Or a chain over the immediate scheduler would not stay flat.
    let returned = type(of: result) == NopDisposable.self ? nil : EndedAction.end(of: result)
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
  private func replace(_ old: ReturningAction, by next: (any Disposable)?) {
    let isReplaced = withLinks { links, _ in
      guard links.returned as AnyObject? === old else { return false }
      links.returned = next
      return true
    }
    if isReplaced { hold(next) }
  }

  /// Makes this one the holder of `next`; one that has run already is passed over.
  private func hold(_ next: (any Disposable)?) {
    guard let next = next as? ReturningAction else { return }
    var other: ReturningAction? = self  // who held it before ends outside of the lock
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
    if let forwarded { forwarded.token.disposeAndWait() } else { task.disposeAndWait() }
    return withLinks { _, _ in late.returned }
  }
}

/// Cancels a closure on a scheduler of another module.
///
/// A class, so that an action without one compares one word. An optional existential in the action took a tenth more time.
private final class ForwardedTask: Sendable {
  let token: any Disposable
  init(_ token: any Disposable) { self.token = token }
}

/// What a scheduler's closure alone holds: it ends uncalled if that is dropped.
private final class ReturningBody: Sendable {
  private let body: @Sendable () -> any Disposable
  private let action: ReturningAction

  init(_ body: @escaping @Sendable () -> any Disposable, of action: ReturningAction) {
    (self.body, self.action) = (body, action)
  }

  deinit { action.drop() }

  func call() { action.settle(body()) }
}
