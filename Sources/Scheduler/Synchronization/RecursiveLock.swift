internal import CScheduler

/// A lock that its owner can acquire again: 8 bytes, unfair, owned by a thread.
///
/// It is an ``UnfairLock`` with a count: the owner must unlock it as often as it has locked it. Unlocking on another
/// thread, or once too often, stops the process with a message. A ``UnfairLock/Condition`` cannot wait with it. If no
/// method that locks calls another method that locks, use ``Protected`` or ``UnfairLock``: they are faster, and report
/// a second lock on the same thread.
public final class RecursiveLock: Sendable {
  private let inline = InlineStruct<csched_rlock, UInt64>()  // the C lock, stored in this object; all zero: unlocked

  /// Creates an unlocked lock.
  public init() {}

  /// Acquires the lock, waiting as long as necessary. The owner can acquire it again.
  @available(*, noasync, message: "a task may go on on another thread, which does not own the lock: use withLock")
  public func lock() { csched_rlock_lock(inline.pointer) }

  /// Releases the lock once. The calling thread must own it.
  public func unlock() { csched_rlock_unlock(inline.pointer) }

  /// Acquires the lock if it is free or owned by the calling thread, and returns whether it was acquired. Never waits.
  @available(*, noasync, message: "a task may go on on another thread, which does not own the lock: use withLock")
  public func tryLock() -> Bool { csched_rlock_trylock(inline.pointer) }

  /// Acquires the lock, waiting at most `timeout`, and returns whether it was acquired.
  ///
  /// - Parameter timeout: the longest wait. A timeout that is not positive does not wait.
  @available(*, noasync, message: "a task may go on on another thread, which does not own the lock: use withLock")
  public func tryLock(for timeout: Duration) -> Bool { csched_rlock_lock_until(inline.pointer, timeout.deadline) }

  /// Acquires the lock, waiting until `deadline` at the latest, and returns whether it was acquired.
  ///
  /// - Parameter deadline: the end of the wait. A deadline in the past does not wait.
  @available(*, noasync, message: "a task may go on on another thread, which does not own the lock: use withLock")
  public func tryLock(until deadline: MonotonicTime) -> Bool {
    csched_rlock_lock_until(inline.pointer, deadline.nanoseconds)
  }

  /// Runs `body` while this thread owns the lock. Returns the result of `body`, or throws its error.
  ///
  /// - Parameter body: called once, on this thread, under the lock.
  public func withLock<Result: ~Copyable, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    csched_rlock_lock(inline.pointer)
    defer { csched_rlock_unlock(inline.pointer) }
    return try body()
  }

  /// Stops the process with a message unless the calling thread owns the lock.
  public func preconditionOwner() { csched_rlock_assert_owner(inline.pointer) }

  /// Stops the process with a message if the calling thread owns the lock.
  public func preconditionNotOwner() { csched_rlock_assert_not_owner(inline.pointer) }
}
