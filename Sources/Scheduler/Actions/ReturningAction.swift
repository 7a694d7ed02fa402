// An action whose closure (its body) returns a disposable. Disposing the action also disposes the returned disposable.
//
// States: those of the task (task.c), and of the links, under `lock` · `disposed`: final, written under the lock
//   `isOver`  final; `holder` stays nil
//   disposed  final; `returned` stays nil
// Invariants
//   Y1  If the action is disposed, before or after the body returns, the disposable that the body returns is disposed once; else never.
//   Y2  Let action A return action B. When both have run, A holds the disposable that B returned, and A has released B.
//   Y3  An action that is over has no holder, so two actions never retain each other.
//   Y4  A thread that sees the action disposed sees everything before that disposal.
//   Y5  If an action is disposed while its body runs, a waiter that announced its wait (beginWait) before gets the disposable that the body returns.
// Orderings: the task's and the lock's; the store of `disposed` releases, pairs with `isDisposed`. Assumes: neither of two locks is taken inside
//   the other.
// Checked by: "a chain over two threads that return each other's disposables stays flat, and one dispose ends it",
//   "a chain of actions that return each other's disposables stays flat, and its head disposes the last",
//   "disposeAndWait waits for what the running action returns",
//   "of several threads that wait for a running action, each waits for what it returns".
// Models: swift/actions/actions.swift.

internal import CScheduler
internal import Synchronization

/// The links of an action A: the disposable that A holds, and the action that holds A. An action *holds* the disposable in its `returned`.
struct ActionLinks {
  var returned: (any Disposable)?  // the disposable that the body returned, or the disposable that has replaced it (Y2)
  /// The action whose `returned` is this action. Cleared when this action is over, because the two actions retain each other.
  var holder: ReturningAction?
  var isOver = false  // whether the body has run, or will never run
  /// Passes a disposable that the body returns after the disposal to waiting threads. Set while a thread waits for the body.
  var late: LateReturn?

  /// Sets `isOver`. Returns the holder, which the caller releases outside the lock.
  mutating func end() -> ReturningAction? {
    isOver = true
    return holder.take()
  }
}

/// An action whose closure returns a disposable. Disposing it cancels the task and disposes what the closure returned.
///
/// In a chain, each action schedules the next action and returns its disposable. The chain stays flat: when an action has run, its returned
/// disposable moves to its holder. So the first action holds the last action, and the actions between them are released.
///
/// The scheduler's closure retains the action, and ends with a call of ``settle(_:)``.
package final class ReturningAction: AwaitedNode, @unchecked Sendable {
  // Unchecked: the compiler cannot see the access rules. `task` is written before it is submitted; `lock` guards `links`.
  private let counted = CountedDisposable()
  private let lock = InlineLock()
  private let disposed = Atomic(false)  // written under the lock
  @exclusivity(unchecked) private var links = ActionLinks()
  @exclusivity(unchecked) var task = ClosureTask()
  /// Used in place of `task` on a scheduler of another module. Set before the caller gets the action.
  @exclusivity(unchecked) private var forwarded: ForwardedTask?

  package init() {}

  /// Calls `submit` to schedule `body` on any scheduler.
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

  /// Called when the scheduler has released the closure without a call.
  func drop() {
    let holder = withLinks { links, _ in links.end() }
    _ = consume holder
  }

  /// Calls `body` under the lock, with the links and whether the action is disposed.
  @inline(__always)
  func withLinks<Result>(_ body: (inout ActionLinks, Bool) -> Result) -> Result {
    lock.withLock { body(&links, disposed.load(ordering: .relaxed)) }  // ordered by the lock
  }

  // MARK: Operations of the token

  package var isDisposed: Bool {
    // Y4: acquire; pairs with detach
    disposed.load(ordering: .acquiring) || (forwarded?.token.isDisposed ?? task.isDisposed)
  }

  // Speed only: most actions hold no disposable, and need no DisposalWalk (a fifth of the time of a timer and its cancellation).
  package func dispose() { if let returned = detach() { DisposalWalk.disposeChild(returned) } }

  package func detachChildren(into walk: inout DisposalWalk) { if let returned = detach() { walk.push(returned) } }

  /// Marks the action as disposed and cancels the task. The first call returns the held disposable, for the caller to dispose; later ones nil.
  private func detach() -> (any Disposable)? {
    let (isFirst, returned) = withLinks { links, isDisposed in
      disposed.store(true, ordering: .releasing)  // Y4: release; pairs with isDisposed
      return (!isDisposed, links.returned.take())
    }
    guard isFirst else { return nil }
    if let forwarded { forwarded.token.dispose() } else { task.dispose() }
    return returned
  }

  // MARK: Chains

  /// Ends the action with the disposable that its body returned. Stores `result` in this action, or in its holder if it has one. If the action is
  /// disposed, disposes `result`.
  package func settle(_ result: any Disposable) {
    // Unwraps an `EndedAction`. Otherwise a chain on the immediate scheduler would grow by one `EndedAction` a step.
    let returned = type(of: result) == NopDisposable.self ? nil : EndedAction.end(of: result)
    let (isLate, holder) = withLinks { links, isDisposed in
      let holder = links.end(), late = links.late.take()
      if isDisposed { late?.returned = returned } else { links.returned = returned }
      return (isDisposed, holder)
    }
    if isLate { returned?.dispose() }
    if let holder { holder.replace(self, by: isLate ? nil : returned) } else if !isLate { becomeHolder(of: returned) }
  }

  /// If this action holds the finished action `old`, makes it hold `next` instead. Does nothing if this action was disposed: disposing it disposed
  /// `old`, which disposed `next`.
  private func replace(_ old: ReturningAction, by next: (any Disposable)?) {
    let isReplaced = withLinks { links, _ in
      guard links.returned as AnyObject? === old else { return false }
      links.returned = next
      return true
    }
    if isReplaced { becomeHolder(of: next) }
  }

  /// Sets the `holder` of `next`, if that is an action, to this action. If `next` has already run, holds the disposable that it returned instead.
  private func becomeHolder(of next: (any Disposable)?) {
    guard let next = next as? ReturningAction else { return }
    var other: ReturningAction? = self  // after the swap: the previous holder, released outside the lock
    let (isOver, further) = next.withLinks { links, _ in
      if !links.isOver { swap(&links.holder, &other) }
      return (links.isOver, links.isOver ? links.returned : nil)
    }
    if isOver { replace(next, by: further) }
  }

  // MARK: Waiting

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

/// The disposable of a closure that is scheduled on a scheduler of another module.
/// A class, so that checking for it compares one word. An optional existential in the action took a tenth more time.
private final class ForwardedTask: Sendable {
  let token: any Disposable
  init(_ token: any Disposable) { self.token = token }
}

/// The body of an action. Only the scheduler's closure retains this object, so its release ends the action, also after a drop.
private final class ReturningBody: Sendable {
  private let body: @Sendable () -> any Disposable
  private let action: ReturningAction

  init(_ body: @escaping @Sendable () -> any Disposable, of action: ReturningAction) {
    (self.body, self.action) = (body, action)
  }

  deinit { action.drop() }

  func call() { action.settle(body()) }
}

/// Handle for an action that has already completed. Disposing it disposes the disposable that the action returned.
final class EndedAction: DisposalNode {
  private let counted = CountedDisposable()
  private let lock = InlineLock()
  // Accessed under the lock, and in init and deinit.
  nonisolated(unsafe) private var returned: (any Disposable)?

  private init(_ returned: any Disposable) { self.returned = returned }

  /// Returns a handle for an action that has run and returned `returned`.
  static func leading(to returned: any Disposable) -> any Disposable {
    let kind = type(of: returned)
    if kind == NopDisposable.self { return NopDisposable() }
    return kind == EndedAction.self ? returned as! EndedAction : EndedAction(returned)
  }

  /// Returns the disposable that `disposable` holds if it is an `EndedAction`; otherwise returns `disposable`.
  static func end(of disposable: (any Disposable)?) -> (any Disposable)? {
    guard let disposable, type(of: disposable) == EndedAction.self else { return disposable }
    let ended = disposable as! EndedAction
    return ended.lock.withLock { ended.returned }
  }

  deinit {
    guard returned != nil else { return }
    DisposalWalk.release { walk in
      if let returned = returned.take() { walk.push(returned) }
    }
  }

  /// Always true: the action has run.
  var isDisposed: Bool { true }

  func dispose() { DisposalWalk.dispose(self) }

  func detachChildren(into walk: inout DisposalWalk) {
    if let returned = lock.withLock({ returned.take() }) { walk.push(returned) }
  }
}
