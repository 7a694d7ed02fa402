internal import CScheduler

extension Protected {
  /// Waits until the value is ready, then runs `body` on it. Returns the result of `body`, or throws its error.
  ///
  /// The successful check and `body` are one critical section: no other thread changes the value in between.
  ///
  /// ```swift
  /// let jobs = Protected<[Job]>([]), filled = UnfairLock.Condition()
  /// let next = jobs.withLock(on: filled, when: { !$0.isEmpty }) { $0.removeFirst() }
  /// ```
  ///
  /// - Parameters:
  ///   - condition: the condition that is signalled after each change that may make the value ready.
  ///   - isReady: checks the value, under the lock: before the wait, and each time that `condition` wakes this thread.
  ///   - body: called once, under the lock, when the value is ready.
  @available(*, noasync, message: "it blocks a thread of Swift's own: await a continuation, or scheduler.perform")
  public func withLock<Result, Failure: Error>(
    on condition: UnfairLock.Condition, when isReady: (Value) -> Bool, _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try withLock(on: condition, deadline: csched_time.max, when: isReady, body)!  // never nil without a deadline
  }

  /// As ``withLock(on:when:_:)``, but waits at most `timeout`. If the value is not ready by then, `body` does not run,
  /// and `nil` is returned.
  ///
  /// - Parameters:
  ///   - condition: as in ``withLock(on:when:_:)``.
  ///   - timeout: the longest wait. If it is not positive, the value is checked without a wait.
  ///   - isReady: as in ``withLock(on:when:_:)``.
  ///   - body: as in ``withLock(on:when:_:)``.
  @available(*, noasync, message: "it blocks a thread of Swift's own: await a continuation, or scheduler.perform")
  public func withLock<Result, Failure: Error>(
    on condition: UnfairLock.Condition, for timeout: Duration, when isReady: (Value) -> Bool,
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    try withLock(on: condition, deadline: timeout.deadline, when: isReady, body)
  }

  /// As ``withLock(on:when:_:)``, but waits until `deadline` at the latest. If the value is not ready by then, `body`
  /// does not run; returns `nil`.
  ///
  /// - Parameters:
  ///   - condition: as in ``withLock(on:when:_:)``.
  ///   - deadline: the end of the wait. If it has passed, the value is checked without a wait.
  ///   - isReady: as in ``withLock(on:when:_:)``.
  ///   - body: as in ``withLock(on:when:_:)``.
  @available(*, noasync, message: "it blocks a thread of Swift's own: await a continuation, or scheduler.perform")
  public func withLock<Result, Failure: Error>(
    on condition: UnfairLock.Condition, until deadline: MonotonicTime, when isReady: (Value) -> Bool,
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    try withLock(on: condition, deadline: deadline.nanoseconds, when: isReady, body)
  }

  /// Waits until the value is ready, then runs `body` on it. Returns nil if the value is not ready at `deadline`;
  /// `csched_time.max`: no deadline.
  private func withLock<Result, Failure: Error>(
    on condition: UnfairLock.Condition, deadline: csched_time, when isReady: (Value) -> Bool,
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    lock.lock()
    defer { lock.unlock() }
    while !isReady(value) {
      if deadline != csched_time.max, csched_now() >= deadline { return nil }  // a ready value wins over the deadline
      // Discarded: whether a signal woke the thread. The loop checks the value and the time again.
      _ = condition.wait(with: lock.pointer, until: deadline)
    }
    return try body(&value)
  }
}
