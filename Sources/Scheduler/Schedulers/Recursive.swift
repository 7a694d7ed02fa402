extension ImmediateSchedulerType {
  /// Schedules `action`, which is given the means to schedule itself again, with a new state, as often as it likes.
  ///
  /// The stack stays as it is and the memory flat, however long that goes on: each turn is an action of its own, so that other
  /// work gets its turn in between. Disposing ends it: no turn begins after that.
  ///
  /// ```swift
  /// CurrentThreadScheduler.instance.scheduleRecursive(1) { n, again in
  ///   print(n)
  ///   if n < 3 { again(n + 1) }
  /// }
  /// ```
  @discardableResult
  public func scheduleRecursive<State: Sendable>(
    _ state: State, action: @escaping @Sendable (State, (State) -> Void) -> Void
  ) -> any Cancelable {
    let recursion = Recursion(scheduler: self, action: action)
    recursion.schedule(state)
    return recursion
  }

  /// Schedules `action`, which is given the means to schedule itself again.
  @discardableResult
  public func scheduleRecursive(_ action: @escaping @Sendable (() -> Void) -> Void) -> any Cancelable {
    scheduleRecursive(()) { _, again in action { again(()) } }
  }
}

/// The turns of one recursive action: those that are scheduled and have not begun.
private final class Recursion<State: Sendable>: Cancelable {
  private struct Turns {
    /// What cancels each pending turn, by its number; `nil` until `schedule` has returned it.
    var pending: [UInt64: (any Disposable)?] = [:]
    var last: UInt64 = 0
    var isDisposed = false
    var action: (@Sendable (State, (State) -> Void) -> Void)?
  }

  private let scheduler: any ImmediateSchedulerType
  private let turns: Protected<Turns>

  init(scheduler: any ImmediateSchedulerType, action: @escaping @Sendable (State, (State) -> Void) -> Void) {
    self.scheduler = scheduler
    turns = Protected(Turns(action: action))
  }

  func schedule(_ state: State) {
    let number: UInt64? = turns.withLock {
      guard !$0.isDisposed else { return nil }
      $0.last += 1
      $0.pending[$0.last] = .some(nil)
      return $0.last
    }
    guard let number else { return }
    let token = scheduler.schedule { [self] in perform(number, state) }
    let isLate = turns.withLock {
      if $0.pending[number] != nil { $0.pending[number] = token }
      return $0.isDisposed
    }
    if isLate { token.dispose() }
  }

  private func perform(_ number: UInt64, _ state: State) {
    let action = turns.withLock {
      _ = $0.pending.removeValue(forKey: number)
      return $0.isDisposed ? nil : $0.action
    }
    action?(state, schedule)
  }

  var isDisposed: Bool { turns.withLock { $0.isDisposed } }

  func dispose() {
    let (tokens, action) = turns.withLock {
      $0.isDisposed = true
      let pending = $0.pending
      $0.pending = [:]
      return (pending, $0.action.take())
    }
    for (_, token) in tokens.sorted(by: { $0.key < $1.key }) { token?.dispose() }
    _ = consume action
  }
}
