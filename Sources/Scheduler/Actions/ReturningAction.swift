// An action whose closure returns a disposable. Disposing the action disposes that too.
//
// States: those of the task (task.c), and of the links, under `lock` · `disposed`: final, written under the lock
//   `isOver`  final; `holder` stays nil
//   disposed  final; `returned` stays nil
// Invariants
//   Y1  If the action is disposed, before or after the body returns, the disposable that the body returns is disposed once; else never.
//   Y2  When an action and the action it returned have both run, the first holds what the second returned, and the second is released.
//   Y3  An action that is over has no holder, so two actions never retain each other.
//   Y4  A thread that sees the action disposed sees everything before that disposal.
//   Y5  A waiter for an action that was disposed while it ran gets what the body returned, if it announced the wait before.
// Orderings: the task's and the lock's; the store of `disposed` releases, pairs with `isDisposed`. Assumes: neither of two locks is taken inside
//   the other.
// Checked by: "a chain over two threads that return each other's disposables stays flat, and one dispose ends it",
//   "a chain of actions that return each other's disposables stays flat, and its head disposes the last",
//   "disposeAndWait waits for what the running action returns",
//   "of several threads that wait for a running action, each waits for what it returns".
// Models: swift/actions/actions.swift.

internal import CScheduler
internal import Synchronization

/// The links of an action: the disposable it holds, and the action that holds it.
struct ActionLinks {
  /// The disposable that the body returned, or the one that has replaced it.
  var returned: (any Disposable)?
  /// The action that holds this one as its returned disposable. Only until this one is over, because the two would retain each other.
  var holder: ReturningAction?
  /// Whether the body has run, or never will.
  var isOver = false
  /// For threads that wait for the end of the body, until it has ended.
  var late: LateReturn?

  /// Ends without a result. Returns the holder, which the caller releases outside the lock.
  mutating func end() -> ReturningAction? {
    isOver = true
    return holder.take()
  }
}

/// An action whose closure returns a disposable. Disposing it cancels the task and disposes what the closure returned.
///
/// A chain of actions, each of which schedules the next and returns its disposable, stays flat. When an action has run, its holder takes over
/// what it returned. So the first action always holds the last, and those between are released.
///
/// The closure holds the action, and ends with a call of ``settle(_:)``.
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

  /// Called when the closure has been released without a call.
  func drop() {
    let holder = withLinks { links, _ in links.end() }
    _ = consume holder
  }

  @inline(__always)
  func withLinks<Result>(_ body: (inout ActionLinks, Bool) -> Result) -> Result {
    lock.withLock { body(&links, disposed.load(ordering: .relaxed)) }  // ordered by the lock
  }

  // MARK: Operations of the token

  package var isDisposed: Bool {
    // Y4: acquire; pairs with detach
    disposed.load(ordering: .acquiring) || (forwarded?.token.isDisposed ?? task.isDisposed)
  }

  // Speed only: most actions hold nothing, and need no walk (a fifth of the time of a timer and its cancellation).
  package func dispose() { if let returned = detach() { DisposalWalk.disposeChild(returned) } }

  package func detachChildren(into walk: inout DisposalWalk) { if let returned = detach() { walk.push(returned) } }

  /// Cancels the task. Returns the disposable to be disposed with it, to the first caller only.
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

  /// Ends the action: keeps what the body returned, and links the holder to it.
  package func settle(_ result: any Disposable) {
    // Without this a chain over the immediate scheduler would not stay flat.
    let returned = type(of: result) == NopDisposable.self ? nil : EndedAction.end(of: result)
    let (isLate, holder) = withLinks { links, isDisposed in
      let holder = links.end(), late = links.late.take()
      if isDisposed { late?.returned = returned } else { links.returned = returned }
      return (isDisposed, holder)
    }
    if isLate { returned?.dispose() }
    if let holder { holder.replace(self, by: isLate ? nil : returned) } else if !isLate { hold(returned) }
  }

  /// If this action still holds the finished `old`, makes it hold `next` instead. If it was disposed, it holds nothing: disposing it disposed
  /// `old`, which disposed `next`.
  private func replace(_ old: ReturningAction, by next: (any Disposable)?) {
    let isReplaced = withLinks { links, _ in
      guard links.returned as AnyObject? === old else { return false }
      links.returned = next
      return true
    }
    if isReplaced { hold(next) }
  }

  /// Makes this action the holder of `next`. If `next` has already run, takes over what it returned.
  private func hold(_ next: (any Disposable)?) {
    guard let next = next as? ReturningAction else { return }
    var other: ReturningAction? = self  // the previous holder is released outside the lock
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

/// Holds the token of a closure on a scheduler of another module.
///
/// A class, so that an action without a token compares one word. An optional existential in the action took a tenth more time.
private final class ForwardedTask: Sendable {
  let token: any Disposable
  init(_ token: any Disposable) { self.token = token }
}

/// The part that only the scheduler's closure holds: a drop releases it without a call.
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

  /// Returns the disposable that an `EndedAction` holds. Returns any other disposable itself.
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
