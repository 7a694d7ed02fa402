/// Guards a value that cannot be copied, or must not be shared, with a lock: it is sent in, and touched inside of ``withLock(_:)`` only.
///
/// ```swift
/// let parser = Guarded(Parser())  // a class that is not Sendable; or a struct that is ~Copyable
/// let tree = parser.withLock { $0.parse(text) }
/// ```
///
/// For every other value there is ``Protected``, with copies, a property wrapper and dynamic members. These need a value that is `Sendable`: what
/// is read leaves the lock. The language has no property wrapper for some values only, so this is a type of its own. The shape is that of
/// `Synchronization.Mutex`, in a class; the rules for what runs under the lock are those of ``Protected``.
public final class Guarded<Value: ~Copyable> {
  @usableFromInline let lock = InlineLock()

  // The lock excludes what the language would otherwise check at each access.
  @exclusivity(unchecked)
  @usableFromInline var value: Value

  /// Guards `value`, which nobody else may have.
  @inlinable
  public init(_ value: consuming sending Value) { self.value = value }

  /// Runs `body` on the value, which it may change, and gives back what it returns or throws. Nothing that belongs to the value leaves it.
  ///
  /// - Parameter body: called once, on this thread, with the lock. It must not touch this guard.
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
  /// - Parameter body: called once, on this thread, with the lock; not at all where the lock is taken.
  @inlinable
  public func withLockIfAvailable<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result? {
    guard lock.tryLock() else { return nil }
    defer { lock.unlock() }
    return try body(&value)
  }

  /// Replaces the value, and gives back the old one.
  ///
  /// - Parameter newValue: what takes the old value's place.
  @inlinable
  public func exchange(_ newValue: consuming sending Value) -> sending Value {
    lock.lock()
    defer { lock.unlock() }
    swap(&value, &newValue)
    return newValue
  }
}

// Unchecked, because the compiler does not know that `value` is only touched under `lock`. Unconditional, because the value is sent in, and
// nothing of it comes out but what is sent.
extension Guarded: @unchecked Sendable where Value: ~Copyable {}
