/// A value guarded by a lock: every access acquires the lock once, and every mutation is one critical section.
///
/// With the property wrapper, `@Protected var x`, the statement `x += 1` is atomic, and the methods are called on `$x`.
/// A guard without the wrapper, `let hits = Protected(0)`, has the methods and no operators:
/// `hits.withLock { $0 += 1 }`.
///
/// ```swift
/// @Protected var hits = 0
/// hits += 1                               // locks once: atomic
/// hits = hits + 1                         // locks twice: loses another thread's change in between
/// let seen = $hits.withLock { hits in     // several steps under one lock
///   defer { hits = 0 }
///   return hits
/// }
/// ```
///
/// 1. One access acquires the lock once. Two accesses acquire it twice: use ``withLock(_:)`` if they belong together.
/// 2. Code that accesses the value in place runs under the lock: a closure given to ``withLock(_:)``, ``read(_:)`` or
///    ``write(_:)->_``; the operator, method or accessor that changes the value in place (`x += 1`, `x.append(1)`,
///    `x.name = "a"`), and the release of values by that code. If the value is an object, the accessors of the
///    properties that `$x.name` reads and sets run under the lock too. Such code must not access the same guard: the
///    lock is not recursive, and the process stops with a message.
/// 3. All your other code runs outside the lock: the right side of an assignment or of `+=`; the arguments of a method;
///    comparison and description; the sequence that is appended; computed properties of a value that are read through a
///    dynamic member; and the release of a value that an assignment to `x` or to `$x.name` replaces.
/// 4. The lock is unfair and its waiters sleep: keep sections short, and do not wait for other threads inside.
///
/// The value and its lock share one allocation. The idea and the names are from Alamofire's `Protected`.
@propertyWrapper
@dynamicMemberLookup
@_fixed_layout  // lets other modules specialise the initialiser, also with library evolution
public final class Protected<Value> {
  @usableFromInline let lock = InlineLock()  // guards `value`

  // The lock ensures exclusive access, so the runtime need not check each access.
  @exclusivity(unchecked)
  @usableFromInline var value: Value

  /// Creates a guard for `value`.
  ///
  /// - Parameter value: the initial value.
  @inlinable
  public init(_ value: Value) { self.value = value }

  /// Creates a guard for the property's initial value.
  ///
  /// - Parameter wrappedValue: the initial value.
  @inlinable
  public convenience init(wrappedValue: Value) { self.init(wrappedValue) }

  /// The value. Reading copies it, assigning replaces it, and changing it in place (`+=`, `append`) is one critical
  /// section.
  ///
  /// Do not pass it as `inout` to an async function (`await fill(&x)`). The task would own the lock while it is
  /// suspended; if it goes on on another thread, the process stops with a message. Use a local copy, or ``AsyncLock``.
  public var wrappedValue: Value {
    @inlinable get { read() }
    @inlinable set { write(newValue) }
    @inlinable _modify {  // the caller changes the value in place, under the lock
      lock.lock()
      defer { lock.unlock() }
      yield &value
    }
  }

  /// The guard itself: `$x`.
  @inlinable
  public var projectedValue: Protected<Value> { self }

  /// Runs `body` on the value, which it may change. Returns the result of `body`, or throws its error.
  ///
  /// - Parameter body: called once, on this thread, under the lock. It must not use this guard.
  @inlinable
  public func withLock<Result: ~Copyable, Failure: Error>(_ body: (inout Value) throws(Failure) -> Result)
    throws(Failure)
    -> Result
  {
    lock.lock()
    defer { lock.unlock() }
    return try body(&value)
  }

  /// Runs `body` as ``withLock(_:)`` does if the lock is free; otherwise returns `nil` without waiting.
  ///
  /// - Parameter body: called once, on this thread, under the lock; not called if the lock is not free.
  @inlinable
  public func withLockIfAvailable<Result: ~Copyable, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    guard lock.tryLock() else { return nil }
    defer { lock.unlock() }
    return try body(&value)
  }

  /// Runs `body` on the value. Returns the result of `body`, or throws its error.
  ///
  /// - Parameter body: called once, on this thread, under the lock. It must not use this guard.
  @inlinable
  public func read<Result: ~Copyable, Failure: Error>(_ body: (Value) throws(Failure) -> Result) throws(Failure)
    -> Result
  {
    lock.lock()
    defer { lock.unlock() }
    return try body(value)
  }

  /// Returns a copy of the value.
  @inlinable
  public func read() -> Value {
    lock.lock()
    defer { lock.unlock() }
    return value
  }

  /// Runs `body` on the value, which it may change. Another name for ``withLock(_:)``.
  ///
  /// - Parameter body: called once, on this thread, under the lock. It must not use this guard.
  @inlinable
  public func write<Result: ~Copyable, Failure: Error>(_ body: (inout Value) throws(Failure) -> Result) throws(Failure)
    -> Result
  {
    try withLock(body)
  }

  /// Replaces the value. The old value is released outside the lock.
  ///
  /// - Parameter newValue: the new value.
  @inlinable
  public func write(_ newValue: Value) { _ = exchange(newValue) }

  /// Replaces the value, and returns the old one.
  ///
  /// - Parameter newValue: the new value.
  @inlinable
  public func exchange(_ newValue: Value) -> Value {
    var other = newValue  // after the swap: the old value
    withLock { swap(&$0, &other) }
    return other
  }

  /// A property of the value, through `$x.name`. It is read on a copy. Setting it, or changing it in place, is one
  /// critical section.
  ///
  /// The value that setting replaces is released outside the lock.
  ///
  /// - Parameter path: the property, from `$x.name`.
  @inlinable
  public subscript<Member>(dynamicMember path: WritableKeyPath<Value, Member>) -> Member {
    get { read()[keyPath: path] }
    set { exchange(newValue, at: path) }  // `exchange` returns the old member, released here, outside the lock
    _modify {  // the caller changes the member in place, under the lock
      lock.lock()
      defer { lock.unlock() }
      yield &value[keyPath: path]
    }
  }

  /// A read-only property of the value, through `$x.name`. It is read on a copy, outside the lock.
  ///
  /// - Parameter path: the property, from `$x.name`.
  @inlinable
  public subscript<Member>(dynamicMember path: KeyPath<Value, Member>) -> Member { read()[keyPath: path] }

  /// Replaces the property at `path`, and returns the old one, so that the caller releases it outside the lock.
  @inlinable
  @discardableResult
  func exchange<Member>(_ newMember: Member, at path: WritableKeyPath<Value, Member>) -> Member {
    var other = newMember  // after the swap: the old member
    withLock { swap(&$0[keyPath: path], &other) }
    return other
  }
}

extension Protected where Value: AnyObject {
  /// A property of the guarded object, read under the lock, because a copy of the value is the same object.
  ///
  /// - Parameter path: the property, from `$x.name`.
  @inlinable
  public subscript<Member>(dynamicMember path: KeyPath<Value, Member>) -> Member { read { $0[keyPath: path] } }

  /// A property of the guarded object. Reading it, setting it, and changing it in place are one critical section each.
  ///
  /// The value that setting replaces is released outside the lock.
  ///
  /// - Parameter path: the property, from `$x.name`.
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

// Unchecked: the compiler cannot see that `lock` guards `value`. Only for Sendable values, because `read()` copies the
// value to other threads.
extension Protected: @unchecked Sendable where Value: Sendable {}
