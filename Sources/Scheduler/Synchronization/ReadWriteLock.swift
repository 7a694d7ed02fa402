internal import CScheduler

/// A lock for several readers or one writer: 8 bytes, owned by threads, not recursive.
///
/// ```swift
/// let lock = ReadWriteLock()
/// let size = lock.withReadLock { table.count }
/// lock.withWriteLock { table[key] = value }
/// ```
///
/// A waiting writer blocks new readers, so writers are not starved. Readers that arrive during its wait continue after
/// the writer's unlock.
///
/// These errors stop the process with a message: locking again on the writer's thread; a wait for the end of the
/// thread's own read lock, if the thread has read-locked no other lock since; unlocking a lock that no thread owns, or
/// that another thread owns for writing.
///
/// The lock is useful if reads are frequent and take some microseconds or more. Otherwise ``Protected`` or
/// ``UnfairLock`` is faster.
public final class ReadWriteLock: Sendable {
  private let inline = InlineStruct<csched_rwlock, UInt64>()  // the C lock, stored in this object; all zero: unlocked

  /// Creates an unlocked lock.
  public init() {}

  /// Acquires the lock for reading, waiting as long as necessary. The calling thread must not own it for reading or
  /// writing.
  @available(*, noasync, message: "a task may go on on another thread, which does not have the lock: use withReadLock")
  public func lockForReading() { csched_rwlock_lock_read(inline.pointer) }

  /// Acquires the lock for reading unless a writer owns it or waits, and returns whether it was acquired. Never waits.
  @available(*, noasync, message: "a task may go on on another thread, which does not have the lock: use withReadLock")
  public func tryLockForReading() -> Bool { csched_rwlock_trylock_read(inline.pointer) }

  /// Acquires the lock for reading, waiting at most `timeout`, and returns whether it was acquired. A timeout that is
  /// not positive does not wait.
  @available(*, noasync, message: "a task may go on on another thread, which does not have the lock: use withReadLock")
  public func tryLockForReading(for timeout: Duration) -> Bool {
    csched_rwlock_lock_read_until(inline.pointer, timeout.deadline)
  }

  /// Acquires the lock for reading, waiting until `deadline` at the latest, and returns whether it was acquired. A past
  /// deadline does not wait.
  @available(*, noasync, message: "a task may go on on another thread, which does not have the lock: use withReadLock")
  public func tryLockForReading(until deadline: MonotonicTime) -> Bool {
    csched_rwlock_lock_read_until(inline.pointer, deadline.nanoseconds)
  }

  /// Releases the lock that the calling thread acquired for reading.
  public func unlockForReading() { csched_rwlock_unlock_read(inline.pointer) }

  /// Acquires the lock for writing, waiting as long as necessary. The calling thread must not own it for reading or
  /// writing.
  @available(*, noasync, message: "a task may go on on another thread, which does not have the lock: use withWriteLock")
  public func lockForWriting() { csched_rwlock_lock_write(inline.pointer) }

  /// Acquires the lock for writing if no thread owns it, and returns whether it was acquired. Never waits.
  @available(*, noasync, message: "a task may go on on another thread, which does not have the lock: use withWriteLock")
  public func tryLockForWriting() -> Bool { csched_rwlock_trylock_write(inline.pointer) }

  /// Acquires the lock for writing, waiting at most `timeout`, and returns whether it was acquired. A timeout that is
  /// not positive does not wait.
  @available(*, noasync, message: "a task may go on on another thread, which does not have the lock: use withWriteLock")
  public func tryLockForWriting(for timeout: Duration) -> Bool {
    csched_rwlock_lock_write_until(inline.pointer, timeout.deadline)
  }

  /// Acquires the lock for writing, waiting until `deadline` at the latest, and returns whether it was acquired. A past
  /// deadline does not wait.
  @available(*, noasync, message: "a task may go on on another thread, which does not have the lock: use withWriteLock")
  public func tryLockForWriting(until deadline: MonotonicTime) -> Bool {
    csched_rwlock_lock_write_until(inline.pointer, deadline.nanoseconds)
  }

  /// Releases the lock that the calling thread acquired for writing.
  public func unlockForWriting() { csched_rwlock_unlock_write(inline.pointer) }

  /// Runs `body` while this thread owns the lock for reading. Returns the result of `body`, or throws its error.
  public func withReadLock<Result: ~Copyable, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    csched_rwlock_lock_read(inline.pointer)
    defer { csched_rwlock_unlock_read(inline.pointer) }
    return try body()
  }

  /// Runs `body` while this thread owns the lock for writing. Returns the result of `body`, or throws its error.
  public func withWriteLock<Result: ~Copyable, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    csched_rwlock_lock_write(inline.pointer)
    defer { csched_rwlock_unlock_write(inline.pointer) }
    return try body()
  }

  /// Stops the process with a message unless the calling thread owns the lock for writing.
  public func preconditionWriter() { csched_rwlock_assert_writer(inline.pointer) }
}
