// An action whose closure (its body) returns a disposable. Disposing the action also disposes the returned disposable.
//
// States: those of the task (task.c), and of the links, under `lock` · `disposed`: final, written under the lock
//   `isOver`  final; `holder` stays nil
//   disposed  final; the action holds no disposable
// Invariants
//   Y1  If the action is disposed, before or after the body returns, the disposable that the body returns is disposed
//       once; else never.
//   Y2  Let action A return action B. When both have run, A holds the disposable that B returned, and A has released B.
//   Y3  An action that is over has no holder, so two actions never retain each other.
//   Y4  A thread that sees the action disposed sees everything before that disposal.
//   Y5  If an action is disposed while its body runs, a waiter that called beginWait before the disposal gets the
//       disposable that the body returns.
// Orderings: the task's and the lock's · `disposed`: release in `detach`, pairs with the acquire in `isDisposed`.
//   Assumes: no thread holds the locks of two actions at once.
// Models: swift/actions/actions.swift.

internal import CScheduler
internal import Synchronization

/// The links of an action A: the disposable that A holds, and the action that holds A.
struct ActionLinks: ~Copyable {
  // The held disposable: the body returned it, or it replaced the returned one (Y2). At most one of `next` and `other`
  // is set.
  // Speed only: two fields, because most bodies of a chain return an action, and a class reference costs less than an
  // existential.
  var next: ReturningAction?
  var other = ChildSlot()
  /// The action whose `next` is this action, and which takes over its returned disposable (Y2). Nil when this action is
  /// over (Y3).
  var holder: ReturningAction?
  var isOver = false  // whether the body has run, or will never run
  // set while threads wait for the body: passes them a disposable that the body returns after the disposal
  var late: LateReturn?

  /// Whether the action holds a disposable.
  var isHolding: Bool { next != nil || other.isSet }

  /// The held disposable.
  var held: (any Disposable)? { next ?? (other.isSet ? other.child : nil) }

  /// Holds `action`, or else `disposable`, if there is one. Requires: none is held.
  @inline(__always)
  mutating func hold(_ action: ReturningAction?, _ disposable: (any Disposable)?) {
    if let action { next = action } else if let disposable { other.set(disposable) }
  }

  /// Removes and returns the held disposable. Requires: there is one.
  mutating func takeHeld() -> any Disposable { next.take() ?? other.take() }

  /// Sets `isOver`. Returns the holder, which the caller releases outside the lock.
  mutating func end() -> ReturningAction? {
    isOver = true
    return holder.take()
  }
}

/// An action whose closure returns a disposable. Disposing it cancels the task and disposes what the closure returned.
///
/// In a chain, each action schedules the next action and returns its disposable. The chain stays flat: when an action
/// has run, its returned disposable moves to its holder. So the first action holds the newest one, and the actions
/// between them are released.
///
/// The closure given to the scheduler retains the action. Its final call is ``settle(_:)``.
package final class ReturningAction: AwaitedNode, @unchecked Sendable {
  // Unchecked: the compiler cannot see the access rules. `task` is written before it is submitted; `lock` guards
  // `links`.
  private let counted = CountedDisposable()  // for the diagnostic count of disposables
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
    let chain = ReturningAction(), run = ReturningBody(body, of: chain)
    chain.forwarded = ForwardedTask(submit { run.call() })
    return chain
  }

  deinit {
    guard links.isHolding else { return }
    // Speed only: if `next` has another reference, releasing it here does not free it, and no walk is needed. That is
    // the usual case in a chain.
    // If another thread releases that reference at this moment, this deinit frees `next`: one stack frame for each such
    // race.
    if links.next != nil, !isKnownUniquelyReferenced(&links.next) { return }
    DisposalWalk.release { $0.push(links.takeHeld()) }
  }

  /// Called when the scheduler has released the closure: the body will not run any more. Releases the holder outside
  /// the lock.
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
    // Y4: acquire: if true, this thread sees everything before the disposal; pairs with the store in detach
    disposed.load(ordering: .acquiring) || (forwarded?.token.isDisposed ?? task.isDisposed)
  }

  package func dispose() { if detach(), let held = takeHeld() { DisposalWalk.disposeChild(held) } }

  package func detachChildren(into walk: inout DisposalWalk) { if detach(), let held = takeHeld() { walk.push(held) } }

  /// Marks the action as disposed and cancels the task. Returns true if this is the first call and the action holds a
  /// disposable.
  // Speed only: most actions hold no disposable. For the others, `takeHeld` locks again: returning an optional
  // existential here would slow all.
  private func detach() -> Bool {
    let (isFirst, isHolding) = withLinks { links, isDisposed in
      disposed.store(true, ordering: .releasing)  // Y4: release; carries the writes before the disposal to isDisposed
      return (!isDisposed, links.isHolding)
    }
    guard isFirst else { return false }  // Y1: an earlier call has taken the held disposable, or will
    if let forwarded { forwarded.token.dispose() } else { task.dispose() }
    return isHolding
  }

  /// Removes and returns the held disposable, for the caller to dispose.
  private func takeHeld() -> (any Disposable)? { withLinks { links, _ in links.isHolding ? links.takeHeld() : nil } }

  // MARK: Chains

  /// Ends the action with the disposable that its body returned. Stores `result` in this action, or in its holder if it
  /// has one. If the action is disposed, disposes `result`.
  package func settle(_ result: any Disposable) {
    let kind = DisposalWalk.kind(of: result)
    if kind == NopDisposable.self {
      settle(nil, nil)
    } else if kind == EndedAction.self {
      // Unwrapped: otherwise a chain on the immediate scheduler would grow by one `EndedAction` a step.
      let end = DisposalWalk.object(result, as: EndedAction.self).end
      settle(Self.asAction(end), end)
    } else {
      settle(kind == ReturningAction.self ? DisposalWalk.object(result, as: ReturningAction.self) : nil, result)
    }
  }

  /// Returns `disposable` as an action; nil if it is nil or not an action.
  private static func asAction(_ disposable: (any Disposable)?) -> ReturningAction? {
    guard let disposable, DisposalWalk.kind(of: disposable) == ReturningAction.self else { return nil }
    return DisposalWalk.object(disposable, as: ReturningAction.self)
  }

  /// Ends the action with `result`; nil: there is nothing to dispose. `next`: the same object as `result` if that is an
  /// action, else nil.
  private func settle(_ next: ReturningAction?, _ result: (any Disposable)?) {
    let (isLate, holder) = withLinks { links, isDisposed in  // isLate: the action was disposed before its body returned
      let holder = links.end(), late = links.late.take()
      if isDisposed { late?.returned = result } else { links.hold(next, result) }  // Y5: `endWait` reads `late`
      return (isDisposed, holder)
    }
    if isLate { result?.dispose() }  // Y1: the action's disposal came first, and found nothing to dispose
    if let holder {  // Y2: the holder now holds `result`, and releases this action
      if isLate { holder.replace(self, by: nil, nil) } else { holder.replace(self, by: next, result) }
    } else if !isLate, let next {  // this action is the first of its chain
      becomeHolder(of: next)
    }
  }

  /// If this action holds the finished action `old`, makes this action hold `next` or `other` instead. Does nothing if
  /// this action was disposed: its disposal disposed `old`, which disposed `other`.
  private func replace(_ old: ReturningAction, by next: ReturningAction?, _ other: (any Disposable)?) {
    let isReplaced = withLinks { links, _ in
      guard links.next === old else { return false }
      links.next = nil
      links.hold(next, other)
      return true
    }
    if isReplaced, let next { becomeHolder(of: next) }
  }

  /// Called when this action holds `next`. If `next` has not run, sets its `holder` to this action. If it has run, this
  /// action holds the held disposable of `next` in its place.
  private func becomeHolder(of next: ReturningAction) {
    var holder: ReturningAction? = self  // after the swap below: the previous holder, released outside the lock
    let isOver = next.withLinks { links, _ in
      if !links.isOver { swap(&links.holder, &holder) }
      return links.isOver
    }
    guard isOver else { return }
    // Two locks are never held at once. Since `next` is over, only its disposal, or the end of the action that it
    // holds, changes `held` meanwhile.
    let further = next.withLinks { links, _ in links.held }
    replace(next, by: Self.asAction(further), further)
  }

  // MARK: Waiting (contracts: AwaitedNode)

  func beginWait() -> LateReturn {
    withLinks { links, _ in
      let late = links.late ?? LateReturn()
      if !links.isOver { links.late = late }  // over: the body has returned, so `late` stays empty
      return late
    }
  }

  func endWait(_ late: LateReturn) -> (any Disposable)? {
    if let forwarded { forwarded.token.disposeAndWait() } else { task.disposeAndWait() }
    return withLinks { _, _ in late.returned }
  }
}

/// The disposable of a closure that is scheduled on a scheduler of another module.
/// A class, so that a check for nil compares one word. An optional existential in the action took a tenth more time.
private final class ForwardedTask: Sendable {
  let token: any Disposable
  init(_ token: any Disposable) { self.token = token }
}

/// The body of an action. Only the closure given to the scheduler retains this object. So its deinit means that the
/// body has run or was dropped.
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
  private let counted = CountedDisposable()  // for the diagnostic count of disposables
  private let lock = InlineLock()
  // Accessed under the lock, and in init and deinit.
  nonisolated(unsafe) private var returned = ChildSlot()

  private init(_ returned: any Disposable) { self.returned.set(returned) }

  /// Returns a handle for an action that has run and returned `returned`. The handle of a handle is the handle itself,
  /// so a chain does not grow.
  static func leading(to returned: any Disposable) -> any Disposable {
    let kind = type(of: returned)
    if kind == NopDisposable.self { return NopDisposable() }
    return kind == EndedAction.self ? DisposalWalk.object(returned, as: EndedAction.self) : EndedAction(returned)
  }

  /// The disposable that the completed action returned; nil after a disposal.
  var end: (any Disposable)? { lock.withLock { returned.isSet ? returned.child : nil } }

  deinit {
    // frees a chain of any length without recursion
    if returned.isSet { DisposalWalk.release { $0.push(returned.take()) } }
  }

  /// Always true: the action has run.
  var isDisposed: Bool { true }

  func dispose() { DisposalWalk.dispose(self) }

  func detachChildren(into walk: inout DisposalWalk) {
    if let returned = lock.withLock({ returned.isSet ? returned.take() : nil }) { walk.push(returned) }
  }
}
