extension Protected {
  /// Changes the value to `new` if `isAllowed` says so of the present one, and tells whether it did: one step of a state machine.
  ///
  /// `isAllowed` runs under the lock, so that nothing comes in between; the old value ends outside of it.
  ///
  /// ```swift
  /// let state = Protected(State.initialized)
  /// let resumed = state.transition(to: .resumed) { $0 == .initialized || $0 == .suspended }
  /// ```
  ///
  /// - Parameters:
  ///   - new: what the value becomes.
  ///   - isAllowed: looks at the present value, under the lock.
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
