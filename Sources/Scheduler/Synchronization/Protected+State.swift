extension Protected {
  /// Changes the value to `new` if `isAllowed` returns true, and returns whether it did: one step of a state machine.
  ///
  /// The check and the change are one critical section. The old value is released outside the lock.
  ///
  /// ```swift
  /// let state = Protected(State.initialized)
  /// let resumed = state.transition(to: .resumed) { $0 == .initialized || $0 == .suspended }
  /// ```
  ///
  /// - Parameters:
  ///   - new: the new value.
  ///   - isAllowed: checks the current value, under the lock.
  @inlinable
  public func transition(to new: Value, if isAllowed: (Value) -> Bool) -> Bool {
    var other = new
    return withLock { value in
      guard isAllowed(value) else { return false }
      swap(&value, &other)
      return true
    }
  }
}
