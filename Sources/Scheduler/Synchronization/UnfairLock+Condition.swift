internal import CScheduler

extension UnfairLock {
  /// A condition variable: threads wait with a lock until the state that the lock guards has changed.
  ///
  /// ```swift
  /// let lock = UnfairLock(), filled = UnfairLock.Condition()
  /// nonisolated(unsafe) var jobs: [Job] = []
  ///
  /// lock.withLock { jobs.append(job) }     // one thread
  /// filled.signal()
  ///
  /// lock.lock()                            // another thread
  /// while jobs.isEmpty { filled.wait(with: lock) }
  /// let next = jobs.removeFirst()
  /// lock.unlock()
  /// ```
  ///
  /// With a ``Protected`` value, the wait is one call: ``Protected/withLock(on:when:_:)``.
  ///
  /// 1. A wait unlocks the lock and begins to wait in one atomic step. So it misses no signal that follows a change
  ///    under the lock.
  /// 2. Waiters are woken in order of arrival, and only by a signal. But a woken thread acquires the lock like any
  ///    other thread, and another thread may acquire it first: check the state again, in a loop.
  /// 3. ``broadcast()`` wakes four waiters. Each woken waiter wakes the next one, at once if the lock is free, else
  ///    when it owns the lock. So a lock that is held is not contended by all of them. The waits return in no
  ///    particular order.
  /// 4. If the waiter is a pool thread, another thread replaces it in the pool. On the thread of a ``ThreadScheduler``,
  ///    and on the main thread, the wait blocks the scheduler, as a lock does: actions never run inside the action that
  ///    waits. So another thread must signal. To run the scheduler's actions meanwhile, wait with ``RunLoopLock``.
  /// 5. A wait without the lock, or with another lock than the current waiters use, stops the process with a message.
  ///
  /// In a child of fork, the condition has no waiters.
  public final class Condition: Sendable {
    private let inline = InlineStruct<csched_cond, UInt>()  // the C struct, stored in this object; all zero: no waiters

    /// Creates a condition without waiters.
    public init() {}

    /// Releases `lock`, waits until this thread is woken, and acquires `lock` again.
    ///
    /// - Parameter lock: the lock that guards the awaited state. The calling thread must own it, and owns it again when
    ///   this returns.
    @available(*, noasync, message: "it blocks a thread of Swift's own: await a continuation, or scheduler.perform")
    public func wait(with lock: UnfairLock) { csched_cond_wait(inline.pointer, lock.inline.pointer) }

    /// As ``wait(with:)``, but waits at most `timeout`. Returns whether a signal woke the thread.
    ///
    /// - Parameters:
    ///   - lock: as in ``wait(with:)``.
    ///   - timeout: the longest wait. If it is not positive, the lock is released once, so that other threads can
    ///     change the state.
    @available(*, noasync, message: "it blocks a thread of Swift's own: await a continuation, or scheduler.perform")
    public func wait(with lock: UnfairLock, for timeout: Duration) -> Bool {
      wait(with: lock.inline.pointer, until: timeout.deadline)
    }

    /// As ``wait(with:)``, but waits until `deadline` at the latest. Returns whether a signal woke the thread.
    ///
    /// - Parameters:
    ///   - lock: as in ``wait(with:)``.
    ///   - deadline: the end of the wait. If it has passed, the lock is released once, so that other threads can change
    ///     the state.
    @available(*, noasync, message: "it blocks a thread of Swift's own: await a continuation, or scheduler.perform")
    public func wait(with lock: UnfairLock, until deadline: MonotonicTime) -> Bool {
      wait(with: lock.inline.pointer, until: deadline.nanoseconds)
    }

    /// Wakes the thread that has waited longest, if any. Call it with or without the lock.
    public func signal() { csched_cond_signal(inline.pointer) }

    /// Wakes all current waiters. Call it with or without the lock.
    public func broadcast() { csched_cond_broadcast(inline.pointer) }

    /// As `wait(with:until:)`, with the C lock. A deadline of `csched_time.max` never comes.
    func wait(with lock: UnsafeMutablePointer<csched_lock>, until deadline: csched_time) -> Bool {
      csched_cond_wait_until(inline.pointer, lock, deadline)
    }
  }
}
