/// Guards a value with a lock: every access is one lock, every mutation one critical section.
///
/// As a property wrapper, `x += 1` is atomic, and `$x` gives the methods. The guard itself, `let hits = Protected(0)`, has the methods and no
/// operators: `hits.withLock { $0 += 1 }`.
///
/// ```swift
/// @Protected var hits = 0
/// hits += 1                               // one lock, nothing lost
/// hits = hits + 1                         // two: another thread's change in between is lost
/// let seen = $hits.withLock { hits in     // several steps, one lock
///   defer { hits = 0 }
///   return hits
/// }
/// ```
///
/// 1. One access takes the lock once. Two accesses are two: use ``withLock(_:)`` where they belong together.
/// 2. Under the lock runs what has access to the value in its place: a closure given to ``withLock(_:)``, ``read(_:)`` or
///    ``write(_:)->_``; the operator, method or accessor that changes the value in place (`x += 1`, `x.append(1)`, `x.name = "a"`, and
///    what those let go of); and, where the value is an object, the accessors of its properties that `$x.name` reads and sets.
///    Touching the same value from inside stops the process with a message, since the lock is not recursive.
/// 3. Everything else of yours stays outside: what stands on the right of an assignment or of `+=`, and the arguments of a method, which
///    are evaluated before; comparison, description; the sequence that is appended; computed properties of a value that are read
///    through a dynamic member; and the end of what an assignment to `x` or to `$x.name` replaces.
/// 4. The lock is unfair and its waiters sleep: keep sections short, and do not wait for other threads inside.
///
/// The value and its lock live in one allocation. Idea and spelling: Alamofire's `Protected`.
@propertyWrapper
@dynamicMemberLookup
public final class Protected<Value> {
  @usableFromInline let lock = InlineLock()

  // The lock excludes what the language would otherwise check at each access.
  @exclusivity(unchecked)
  @usableFromInline var value: Value

  /// Guards `value`.
  ///
  /// - Parameter value: the first value.
  @inlinable
  public init(_ value: Value) { self.value = value }

  /// Guards the property's initial value.
  ///
  /// - Parameter wrappedValue: what the property begins with.
  @inlinable
  public convenience init(wrappedValue: Value) { self.init(wrappedValue) }

  /// The value: reading copies it, assigning replaces it, and changing it in place (`+=`, `append`) is one critical section.
  public var wrappedValue: Value {
    @inlinable get { read() }
    @inlinable set { write(newValue) }
    @inlinable _modify {
      lock.lock()
      defer { lock.unlock() }
      yield &value
    }
  }

  /// The guard itself: `$x`.
  @inlinable
  public var projectedValue: Protected<Value> { self }

  /// Runs `body` on the value, which it may change, and gives back what it returns or throws.
  ///
  /// - Parameter body: called once, on this thread, with the lock. It must not touch this guard.
  @inlinable
  public func withLock<Result, Failure: Error>(_ body: (inout Value) throws(Failure) -> Result) throws(Failure)
    -> Result
  {
    lock.lock()
    defer { lock.unlock() }
    return try body(&value)
  }

  /// Runs `body` as ``withLock(_:)`` does if the lock is free; otherwise returns `nil` without waiting.
  ///
  /// - Parameter body: called once, on this thread, with the lock; not at all where the lock is taken.
  @inlinable
  public func withLockIfAvailable<Result, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    guard lock.tryLock() else { return nil }
    defer { lock.unlock() }
    return try body(&value)
  }

  /// Runs `body` on the value, and gives back what it returns or throws.
  ///
  /// - Parameter body: called once, on this thread, with the lock. It must not touch this guard.
  @inlinable
  public func read<Result, Failure: Error>(_ body: (Value) throws(Failure) -> Result) throws(Failure) -> Result {
    lock.lock()
    defer { lock.unlock() }
    return try body(value)
  }

  /// Copies the value out.
  @inlinable
  public func read() -> Value {
    lock.lock()
    defer { lock.unlock() }
    return value
  }

  /// Runs `body` on the value, which it may change: another name for ``withLock(_:)``.
  ///
  /// - Parameter body: called once, on this thread, with the lock. It must not touch this guard.
  @inlinable
  public func write<Result, Failure: Error>(_ body: (inout Value) throws(Failure) -> Result) throws(Failure) -> Result {
    try withLock(body)
  }

  /// Replaces the value. The old one ends outside of the lock.
  ///
  /// - Parameter newValue: what takes the old value's place.
  @inlinable
  public func write(_ newValue: Value) { _ = exchange(newValue) }

  /// Replaces the value, and gives back the old one.
  ///
  /// - Parameter newValue: what takes the old value's place.
  @inlinable
  public func exchange(_ newValue: Value) -> Value {
    var other = newValue
    withLock { swap(&$0, &other) }
    return other
  }

  /// A property of the value, through `$x.name`: reading is done on a copy; setting it, and changing it in place, is one critical section.
  /// What setting replaces ends outside of the lock.
  ///
  /// - Parameter path: the property, as `$x.name` gives it.
  @inlinable
  public subscript<Member>(dynamicMember path: WritableKeyPath<Value, Member>) -> Member {
    get { read()[keyPath: path] }
    set { exchange(newValue, at: path) }
    _modify {
      lock.lock()
      defer { lock.unlock() }
      yield &value[keyPath: path]
    }
  }

  /// A property of the value that can only be read, through `$x.name`; it is read on a copy, outside of the lock.
  ///
  /// - Parameter path: the property, as `$x.name` gives it.
  @inlinable
  public subscript<Member>(dynamicMember path: KeyPath<Value, Member>) -> Member { read()[keyPath: path] }

  /// Replaces what is at `path`, and gives it back, so that it ends outside of the lock.
  @inlinable
  @discardableResult
  func exchange<Member>(_ newMember: Member, at path: WritableKeyPath<Value, Member>) -> Member {
    var other = newMember
    withLock { swap(&$0[keyPath: path], &other) }
    return other
  }
}

extension Protected where Value: AnyObject {
  /// A property of the object that the value is; read under the lock, because a copy of the value is the same object.
  ///
  /// - Parameter path: the property, as `$x.name` gives it.
  @inlinable
  public subscript<Member>(dynamicMember path: KeyPath<Value, Member>) -> Member { read { $0[keyPath: path] } }

  /// A property of the object that the value is: reading it, setting it, and changing it in place is one critical section each. What
  /// setting replaces ends outside of the lock.
  ///
  /// - Parameter path: the property, as `$x.name` gives it.
  @inlinable
  public subscript<Member>(dynamicMember path: ReferenceWritableKeyPath<Value, Member>) -> Member {
    get { read { $0[keyPath: path] } }
    set { exchange(newValue, at: path) }
    _modify {
      lock.lock()
      defer { lock.unlock() }
      yield &value[keyPath: path]
    }
  }
}

// Unchecked, because the compiler does not know that `value` is only touched under `lock`. Conditional, because a value that may
// not leave its thread would leave it through `read()`.
extension Protected: @unchecked Sendable where Value: Sendable {}
