internal import CScheduler

extension Protected {
  /// Waits until `isReady` holds for the value, then runs `body` on it, and gives back what that returns or throws: one critical section,
  /// which begins when the value is ready.
  ///
  /// ```swift
  /// let jobs = Protected<[Job]>([]), filled = UnfairLock.Condition()
  /// let next = jobs.withLock(on: filled, when: { !$0.isEmpty }) { $0.removeFirst() }
  /// ```
  ///
  /// - Parameters:
  ///   - condition: who changes the value so that it may be ready signals this, after the change.
  ///   - isReady: looks at the value, with the lock: before the wait, and each time that `condition` wakes it.
  ///   - body: what to do with the value.
  @available(*, noasync, message: "it blocks a thread of Swift's own: await a continuation, or scheduler.perform")
  public func withLock<Result, Failure: Error>(
    on condition: UnfairLock.Condition, when isReady: (Value) -> Bool, _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try withLock(on: condition, deadline: csched_time.max, when: isReady, body)!  // only the end of time gives none
  }

  /// As ``withLock(on:when:_:)``; but when the value is not ready in time, `body` does not run, and `nil` is returned.
  ///
  /// - Parameters:
  ///   - condition: as there.
  ///   - timeout: how long to wait at the most. One that is not positive looks at the value, and does not wait.
  ///   - isReady: as there.
  ///   - body: as there.
  @available(*, noasync, message: "it blocks a thread of Swift's own: await a continuation, or scheduler.perform")
  public func withLock<Result, Failure: Error>(
    on condition: UnfairLock.Condition, for timeout: Duration, when isReady: (Value) -> Bool,
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    try withLock(on: condition, deadline: timeout.deadline, when: isReady, body)
  }

  /// As ``withLock(on:when:_:)``; but when the value is not ready by `deadline`, `body` does not run, and `nil` is returned.
  ///
  /// - Parameters:
  ///   - condition: as there.
  ///   - deadline: until when to wait. One that has passed looks at the value, and does not wait.
  ///   - isReady: as there.
  ///   - body: as there.
  @available(*, noasync, message: "it blocks a thread of Swift's own: await a continuation, or scheduler.perform")
  public func withLock<Result, Failure: Error>(
    on condition: UnfairLock.Condition, until deadline: MonotonicTime, when isReady: (Value) -> Bool,
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    try withLock(on: condition, deadline: deadline.nanoseconds, when: isReady, body)
  }

  private func withLock<Result, Failure: Error>(
    on condition: UnfairLock.Condition, deadline: csched_time, when isReady: (Value) -> Bool,
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    lock.lock()
    defer { lock.unlock() }
    while !isReady(value) {
      if deadline != csched_time.max, csched_now() >= deadline { return nil }
      _ = condition.wait(with: lock.pointer, until: deadline)
    }
    return try body(&value)
  }
}
