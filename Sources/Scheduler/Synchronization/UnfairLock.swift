internal import CScheduler

/// A lock of 4 bytes: unfair, not recursive, owned by a thread.
///
/// A thread that finds the lock owned by another thread spins briefly and then sleeps. Locking again on the owning
/// thread, and unlocking on another thread, stop the process with a message. To guard a value, prefer ``Protected``.
///
/// ```swift
/// let lock = UnfairLock()
/// var total = 0
/// lock.withLock { total += 1 }
/// ```
public final class UnfairLock: Sendable {
  @usableFromInline let inline = InlineLock()  // the C lock, stored in this object; its calls are inlined

  /// Creates an unlocked lock.
  public init() {}

  /// Acquires the lock, waiting as long as necessary. The calling thread must not own it.
  @available(*, noasync, message: "a task may go on on another thread, which does not own the lock: use withLock")
  @inlinable
  public func lock() { inline.lock() }

  /// Releases the lock. The calling thread must own it.
  @inlinable
  public func unlock() { inline.unlock() }

  /// Acquires the lock if it is free, and returns whether it was acquired. Never waits.
  @available(*, noasync, message: "a task may go on on another thread, which does not own the lock: use withLock")
  @inlinable
  public func tryLock() -> Bool { inline.tryLock() }

  /// Acquires the lock, waiting at most `timeout`, and returns whether it was acquired.
  ///
  /// - Parameter timeout: the longest wait. A timeout that is not positive does not wait.
  @available(*, noasync, message: "a task may go on on another thread, which does not own the lock: use withLock")
  public func tryLock(for timeout: Duration) -> Bool { csched_lock_lock_until(inline.pointer, timeout.deadline) }

  /// Acquires the lock, waiting until `deadline` at the latest, and returns whether it was acquired.
  ///
  /// - Parameter deadline: the end of the wait. A deadline in the past does not wait.
  @available(*, noasync, message: "a task may go on on another thread, which does not own the lock: use withLock")
  public func tryLock(until deadline: MonotonicTime) -> Bool {
    csched_lock_lock_until(inline.pointer, deadline.nanoseconds)
  }

  /// Runs `body` while this thread owns the lock. Returns the result of `body`, or throws its error.
  ///
  /// - Parameter body: called once, on this thread, under the lock.
  @inlinable
  public func withLock<Result: ~Copyable, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try inline.withLock(body)
  }

  /// Stops the process with a message unless the calling thread owns the lock.
  public func preconditionOwner() { csched_lock_assert_owner(inline.pointer) }

  /// Stops the process with a message if the calling thread owns the lock.
  public func preconditionNotOwner() { csched_lock_assert_not_owner(inline.pointer) }
}
