internal import CScheduler

/// Lets several threads read, or one write: 8 bytes, owned by threads, not recursive.
///
/// ```swift
/// let lock = ReadWriteLock()
/// let size = lock.withReadLock { table.count }
/// lock.withWriteLock { table[key] = value }
/// ```
///
/// A writer that waits lets no new reader in, so writers are not starved; readers that come meanwhile wait until it is through. Locking again on
/// the thread that writes, waiting for what the thread itself reads, and unlocking what nobody has, or what another thread writes, stop the process
/// with a message. It pays where reading takes long, some microseconds or more, and is frequent; otherwise ``Protected`` or ``UnfairLock`` are
/// quicker.
public final class ReadWriteLock: Sendable {
  private let inline = InlineStruct<csched_rwlock, UInt64>()

  /// Makes an unlocked lock.
  public init() {}

  /// Takes the lock for reading, waiting as long as it must. The calling thread must have it in neither way.
  @available(*, noasync, message: "a task may go on on another thread, which does not have the lock: use withReadLock")
  public func lockForReading() { csched_rwlock_lock_read(inline.pointer) }

  /// Takes the lock for reading unless a writer has it or waits, and tells whether it did. Never waits.
  public func tryLockForReading() -> Bool { csched_rwlock_trylock_read(inline.pointer) }

  /// Takes the lock for reading, waiting for `timeout` at the most, and tells whether it did. A timeout that is not positive does not wait.
  public func tryLockForReading(for timeout: Duration) -> Bool {
    csched_rwlock_lock_read_until(inline.pointer, timeout.deadline)
  }

  /// Takes the lock for reading, waiting until `deadline` at the most, and tells whether it did. A deadline in the past does not wait.
  public func tryLockForReading(until deadline: MonotonicTime) -> Bool {
    csched_rwlock_lock_read_until(inline.pointer, deadline.nanoseconds)
  }

  /// Gives back what the calling thread took for reading.
  public func unlockForReading() { csched_rwlock_unlock_read(inline.pointer) }

  /// Takes the lock for writing, waiting as long as it must. The calling thread must have it in neither way.
  @available(*, noasync, message: "a task may go on on another thread, which does not have the lock: use withWriteLock")
  public func lockForWriting() { csched_rwlock_lock_write(inline.pointer) }

  /// Takes the lock for writing if nobody has it, and tells whether it did. Never waits.
  public func tryLockForWriting() -> Bool { csched_rwlock_trylock_write(inline.pointer) }

  /// Takes the lock for writing, waiting for `timeout` at the most, and tells whether it did. A timeout that is not positive does not wait.
  public func tryLockForWriting(for timeout: Duration) -> Bool {
    csched_rwlock_lock_write_until(inline.pointer, timeout.deadline)
  }

  /// Takes the lock for writing, waiting until `deadline` at the most, and tells whether it did. A deadline in the past does not wait.
  public func tryLockForWriting(until deadline: MonotonicTime) -> Bool {
    csched_rwlock_lock_write_until(inline.pointer, deadline.nanoseconds)
  }

  /// Gives back what the calling thread took for writing.
  public func unlockForWriting() { csched_rwlock_unlock_write(inline.pointer) }

  /// Runs `body` with the lock taken for reading, and gives back what it returns or throws.
  public func withReadLock<Result: ~Copyable, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    csched_rwlock_lock_read(inline.pointer)
    defer { csched_rwlock_unlock_read(inline.pointer) }
    return try body()
  }

  /// Runs `body` with the lock taken for writing, and gives back what it returns or throws.
  public func withWriteLock<Result: ~Copyable, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    csched_rwlock_lock_write(inline.pointer)
    defer { csched_rwlock_unlock_write(inline.pointer) }
    return try body()
  }

  /// Stops the process with a message unless the calling thread has the lock for writing.
  public func preconditionWriter() { csched_rwlock_assert_writer(inline.pointer) }
}
