internal import CScheduler

/// Locks, and lets its owner lock again: 8 bytes, unfair, owned by a thread.
///
/// An ``UnfairLock`` with a count: the owner unlocks it as often as it has locked it. Unlocking on another thread, or once too often, stops the
/// process with a message. A ``UnfairLock/Condition`` cannot be waited for with it. Where no method calls another one that locks, ``Protected`` or
/// ``UnfairLock`` are quicker, and say when they are taken twice.
public final class RecursiveLock: Sendable {
  private let inline = InlineStruct<csched_rlock, UInt64>()

  /// Makes an unlocked lock.
  public init() {}

  /// Takes the lock, once more where the calling thread owns it, waiting as long as it must.
  @available(*, noasync, message: "a task may go on on another thread, which does not own the lock: use withLock")
  public func lock() { csched_rlock_lock(inline.pointer) }

  /// Gives the lock back once. The calling thread must own it.
  public func unlock() { csched_rlock_unlock(inline.pointer) }

  /// Takes the lock if it is free or the calling thread's, and tells whether it did. Never waits.
  public func tryLock() -> Bool { csched_rlock_trylock(inline.pointer) }

  /// Takes the lock, waiting for `timeout` at the most, and tells whether it did. A timeout that is not positive does not wait.
  ///
  /// - Parameter timeout: how long to wait at the most. One that is not positive does not wait.
  public func tryLock(for timeout: Duration) -> Bool { csched_rlock_lock_until(inline.pointer, timeout.deadline) }

  /// Takes the lock, waiting until `deadline` at the most, and tells whether it did. A deadline in the past does not wait.
  ///
  /// - Parameter deadline: until when to wait at the most. One in the past does not wait.
  public func tryLock(until deadline: MonotonicTime) -> Bool {
    csched_rlock_lock_until(inline.pointer, deadline.nanoseconds)
  }

  /// Runs `body` with the lock taken, and gives back what it returns or throws.
  ///
  /// - Parameter body: called once, on this thread, with the lock.
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
