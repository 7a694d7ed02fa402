internal import CScheduler

extension UnfairLock {
  /// Waits with a lock until what the lock guards has changed.
  ///
  /// ```swift
  /// let lock = UnfairLock(), filled = UnfairLock.Condition()
  /// nonisolated(unsafe) var jobs: [Job] = []
  ///
  /// lock.withLock { jobs.append(job) }     // one thread
  /// filled.signal()
  ///
  /// lock.lock()                            // another one
  /// while jobs.isEmpty { filled.wait(with: lock) }
  /// let next = jobs.removeFirst()
  /// lock.unlock()
  /// ```
  ///
  /// With a ``Protected`` value that is one call: ``Protected/withLock(on:when:_:)``.
  ///
  /// 1. A wait unlocks the lock and begins to wait in one step. So it misses no signal that follows a change under the lock.
  /// 2. Waiters are woken in the order in which they came, and none without a signal. But a woken one takes the lock like any other thread,
  ///    and another may have been quicker: look again, in a loop.
  /// 3. ``broadcast()`` wakes one, and each that is woken, when it has the lock, the next: they do not all contend for the lock at once.
  /// 4. On a thread of the pool another one takes the waiter's place. On the thread of a ``ThreadScheduler``, and on the main thread, the wait
  ///    holds the scheduler up, as a lock does: its actions would otherwise run inside of the action that waits. What signals must run
  ///    elsewhere; to serve the scheduler meanwhile, wait with ``RunLoopLock``.
  /// 5. A wait without the lock, or with another lock than those who wait already, stops the process with a message.
  ///
  /// In a child of fork nobody waits.
  public final class Condition: Sendable {
    private let inline = InlineStruct<csched_cond, UInt>()

    /// Makes one for which nobody waits.
    public init() {}

    /// Lets go of `lock`, waits until it is woken, and takes `lock` again. The calling thread must own it.
    ///
    /// - Parameter lock: the one that guards what is waited for. The caller has it; it is let go of during the wait, and taken again before this returns.
    @available(*, noasync, message: "it blocks a thread of Swift's own: await a continuation, or scheduler.perform")
    public func wait(with lock: UnfairLock) { csched_cond_wait(inline.pointer, lock.inline.pointer) }

    /// As ``wait(with:)``, for `timeout` at the most; one that is not positive lets go of the lock once. Returns whether it was woken.
    ///
    /// - Parameters:
    ///   - lock: as there.
    ///   - timeout: how long to wait at the most.
    @available(*, noasync, message: "it blocks a thread of Swift's own: await a continuation, or scheduler.perform")
    public func wait(with lock: UnfairLock, for timeout: Duration) -> Bool {
      wait(with: lock.inline.pointer, until: timeout.deadline)
    }

    /// As ``wait(with:)``, until `deadline` at the most; one in the past lets go of the lock once. Returns whether it was woken.
    ///
    /// - Parameters:
    ///   - lock: as there.
    ///   - deadline: until when to wait at the most.
    @available(*, noasync, message: "it blocks a thread of Swift's own: await a continuation, or scheduler.perform")
    public func wait(with lock: UnfairLock, until deadline: MonotonicTime) -> Bool {
      wait(with: lock.inline.pointer, until: deadline.nanoseconds)
    }

    /// Wakes the thread that has waited longest, if any waits. With the lock or without it.
    public func signal() { csched_cond_signal(inline.pointer) }

    /// Wakes all that wait now, one after the other. With the lock or without it.
    public func broadcast() { csched_cond_broadcast(inline.pointer) }

    func wait(with lock: UnsafeMutablePointer<csched_lock>, until deadline: csched_time) -> Bool {
      csched_cond_wait_until(inline.pointer, lock, deadline)
    }
  }
}
