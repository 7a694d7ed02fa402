extension Protected {
  /// Makes one step of a state machine: changes the value to `new` if `isAllowed` returns true. Returns whether the
  /// value was changed.
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
    var other = new  // after the swap: the old value
    return withLock { value in
      guard isAllowed(value) else { return false }
      swap(&value, &other)
      return true
    }
  }
}

extension Protected where Value: RangeReplaceableCollection {
  /// Appends `element`, in one critical section.
  @inlinable
  public func append(_ element: Value.Element) { withLock { $0.append(element) } }

  /// Appends `elements`, in one critical section. The sequence is iterated before the lock is acquired.
  @inlinable
  public func append(contentsOf elements: some Sequence<Value.Element>) {
    let elements = Array(elements)  // iterating runs user code, so it comes before the lock
    withLock { $0.append(contentsOf: elements) }
  }
}

/// For an optional collection, such as a `Data?` that is `nil` until a response begins.
extension Protected {
  /// Appends `other`, in one critical section. If the value is `nil`, it becomes a copy of `other`.
  @inlinable
  public func append<Wrapped: RangeReplaceableCollection>(_ other: Wrapped) where Value == Wrapped? {
    withLock { value in
      if value == nil { value = other } else { value!.append(contentsOf: other) }
    }
  }

  /// Appends `elements`, in one critical section. If the value is `nil`, it becomes a collection of them. The sequence
  /// is iterated before the lock is acquired.
  @inlinable
  public func append<Wrapped: RangeReplaceableCollection>(
    contentsOf elements: some Sequence<Wrapped.Element>
  ) where Value == Wrapped? {
    let elements = Array(elements)
    withLock { value in
      if value == nil { value = Wrapped(elements) } else { value!.append(contentsOf: elements) }
    }
  }
}

/// `Protected` is not `Hashable`, because its value can change, and a member of a set must not change.
extension Protected: Equatable where Value: Equatable {
  /// Returns whether the two values are equal. Each value is copied out under its own lock.
  ///
  /// Two locks are never held at once, and no lock is held during the comparison. So neither `x == x` nor `a == b`
  /// beside `b == a` can deadlock.
  @inlinable
  public static func == (left: Protected, right: Protected) -> Bool { left.read() == right.read() }
}

extension Protected: CustomStringConvertible {
  /// A description of a copy of the value.
  public var description: String { "Protected(\(read()))" }
}
