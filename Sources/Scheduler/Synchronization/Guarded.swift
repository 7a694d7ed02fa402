/// A lock around a value that cannot be copied or is not `Sendable`. The value is sent in, and accessed only inside
/// ``withLock(_:)``.
///
/// ```swift
/// let parser = Guarded(Parser())  // a class that is not Sendable; or a struct that is ~Copyable
/// let tree = parser.withLock { $0.parse(text) }
/// ```
///
/// For every other value use ``Protected``, which adds copies, a property wrapper and dynamic members. These need a
/// `Sendable` value, because reading copies the value out of the lock. This is a separate type, because a property
/// wrapper cannot be limited to some value types. A `Guarded` is like `Synchronization.Mutex`, but a class. The rules
/// for code under the lock are those of ``Protected``.
///
/// Do not let the value out of the lock. Swift 6.3 does not refuse a closure that returns a value that is not
/// `Sendable`, or an object inside of it (`withLock { $0 }`); so it is with `Mutex`.
@_fixed_layout  // lets other modules specialise the initialiser, also with library evolution
public final class Guarded<Value: ~Copyable> {
  @usableFromInline let lock = InlineLock()  // guards `value`

  // The lock ensures exclusive access, so the runtime need not check each access.
  @exclusivity(unchecked)
  @usableFromInline var value: Value

  /// Creates a guard for `value`, to which no other code may have a reference.
  @inlinable
  public init(_ value: consuming sending Value) { self.value = value }

  /// Runs `body` on the value, which it may change. Returns the result of `body`, or throws its error.
  ///
  /// The compiler checks that no reference to the value's contents leaves `body`.
  ///
  /// - Parameter body: called once, on this thread, under the lock. It must not use this guard.
  @inlinable
  public func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    lock.lock()
    defer { lock.unlock() }
    return try body(&value)
  }

  /// Runs `body` as ``withLock(_:)`` does if the lock is free; otherwise returns `nil` without waiting.
  ///
  /// - Parameter body: called once, on this thread, under the lock; not called if the lock is not free.
  @inlinable
  public func withLockIfAvailable<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result? {
    guard lock.tryLock() else { return nil }
    defer { lock.unlock() }
    return try body(&value)
  }

  /// Replaces the value, and returns the old one.
  ///
  /// - Parameter newValue: the new value.
  @inlinable
  public func exchange(_ newValue: consuming sending Value) -> sending Value {
    lock.lock()
    defer { lock.unlock() }
    swap(&value, &newValue)  // `newValue` now holds the old value
    return newValue
  }
}

// Unchecked: the compiler cannot see that `lock` guards `value`. `Value` need not be Sendable, because all values enter
// and leave as `sending`.
extension Guarded: @unchecked Sendable where Value: ~Copyable {}
