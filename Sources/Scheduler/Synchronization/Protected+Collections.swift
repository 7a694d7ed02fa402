extension Protected where Value: RangeReplaceableCollection {
  /// Appends `element`, in one critical section.
  @inlinable
  public func append(_ element: Value.Element) { withLock { $0.append(element) } }

  /// Appends `elements`, in one critical section. The sequence is iterated before the lock is taken.
  @inlinable
  public func append(contentsOf elements: some Sequence<Value.Element>) {
    let elements = Array(elements)
    withLock { $0.append(contentsOf: elements) }
  }
}

/// For an optional collection, such as a `Data?` that is `nil` until a response begins. No import is needed.
extension Protected {
  /// Appends `other`, in one critical section. If the value is `nil`, it becomes a copy of `other`.
  @inlinable
  public func append<Wrapped: RangeReplaceableCollection>(_ other: Wrapped) where Value == Wrapped? {
    withLock { value in
      if value == nil { value = other } else { value!.append(contentsOf: other) }
    }
  }

  /// Appends `elements`, in one critical section. If the value is `nil`, it becomes a collection of them. The sequence is iterated before the
  /// lock is taken.
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
