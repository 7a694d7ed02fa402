// States, under the lock that guards the action's links
//   `isOver`  final; `holder` stays nil
//   disposed  (of the action itself) final; `returned` stays nil
// Obligations
//   Y1  What the body returns is disposed once if the action is disposed, before that or after; else never.
//   Y2  When an action and what it returned have both run, the first leads to what the second returned, and the second is gone.
//   Y3  An action that is over has no holder: no two keep each other.
//   Y5  Who waits for an action that was disposed while it ran gets what the body returned, if he announced that before.
// Orderings: the lock's. Assumes: none of two locks is taken inside of the other.
// Checked by: "a chain over two threads that return each other's disposables stays flat, and one dispose ends it",
//   "a chain of actions that return each other's disposables stays flat, and its head disposes the last",
//   "disposeAndWait waits for what the running action returns".
// Models: swift/actions/actions.swift.

/// What an action leads to, and who leads to it.
struct ActionLinks<Action: ChainedAction> {
  /// What the body returned, or what that has led to.
  var returned: (any Disposable)?
  /// The action that holds this one as what it returned. Only until this one is over, or the two would keep each other.
  var holder: Action?
  /// Whether the body has run, or never will.
  var isOver = false
  /// For those who wait for the end of the body, until it has ended.
  var late: LateReturn?

  /// Becomes over without a result, and hands out the holder, to be released outside of the lock.
  mutating func end() -> Action? {
    isOver = true
    return holder.take()
  }
}

/// An action whose body may return the disposable of another one.
///
/// A chain of actions, each of which schedules the next and returns its disposable, stays flat: when an action has run, the
/// one that holds it takes over what it returned. So the first of them always leads straight to the last, and those between
/// are gone.
protocol ChainedAction: AwaitedNode {
  /// Waits until the body has returned and all that it held is gone, or that is being dropped on another thread; not on a thread that is
  /// inside of it.
  func awaitEnd()
  /// Calls `body` with the links, and with whether the action is disposed, under the lock that guards both.
  func withLinks<Result>(_ body: (_ links: inout ActionLinks<Self>, _ isDisposed: Bool) -> Result) -> Result
}

extension ChainedAction {
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
  private func replace(_ old: Self, by next: (any Disposable)?) {
    let isReplaced = withLinks { links, _ in
      guard links.returned as AnyObject? === old else { return false }
      links.returned = next
      return true
    }
    if isReplaced { hold(next) }
  }

  /// Makes this one the holder of `next`; one that has run already is passed over.
  private func hold(_ next: (any Disposable)?) {
    guard let next = next as? Self else { return }
    var other: Self? = self  // who held it before ends outside of the lock
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
    awaitEnd()
    return withLinks { _, _ in late.returned }
  }
}
