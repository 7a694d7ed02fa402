/// A value that one task at a time may use, also across `await`. Tasks get it in order of arrival.
///
/// ```swift
/// let session = AsyncLock(Session())
/// let answer = try await session.withLock { session in
///   try await session.connect()
///   return try await session.ask(question)   // no other task has used the session in between
/// }
/// ```
///
/// An actor runs other calls while one of its functions is suspended. With an `AsyncLock` the task has the value until
/// the closure returns.
///
/// 1. A task that waits is suspended; no thread is blocked. A task that is cancelled stops waiting at once.
/// 2. A task that gets the lock sees everything that was done under it.
/// 3. While a task of a higher priority waits, the task that has the lock runs with that priority (with Swift 6.2 and
///    later). It is the priority that the waiting task has when its wait begins.
/// 4. The lock is not recursive. A task that waits for a lock that it holds gets ``SchedulerError/deadlock``. A child
///    task is another task: if the closure awaits a child that needs the lock, both wait for ever.
///
/// The value need not be `Sendable` or copyable: it is sent into the lock, and results are sent out. Do not let the
/// value itself out: Swift 6.3 does not refuse `withLock { $0 }`, nor does it with `Mutex`. Without `await` inside,
/// ``Protected`` is faster.
public final class AsyncLock<Value: ~Copyable> {
  private let permit = AsyncUnits(1)  // the one unit is free while no task has the lock
  private let holder = LockHolder()  // records which task has the lock
  /// The value. Allocated separately, because the access to a stored property could not last across a suspension.
  private let value: UnsafeMutablePointer<Value>

  /// Creates a lock around `value`, to which no other code may have a reference.
  ///
  /// - Parameter value: the initial value.
  public init(_ value: consuming sending Value) {
    self.value = .allocate(capacity: 1)
    self.value.initialize(to: value)
  }

  deinit {
    value.deinitialize(count: 1)
    value.deallocate()
  }

  /// Suspends the task until it has the lock, calls `body` with the value, and releases the lock, also if `body`
  /// throws.
  ///
  /// - Parameters:
  ///   - isolation: the caller's isolation, in which this function runs.
  ///   - body: the work on the value, called once, in the calling task.
  /// - Returns: the result of `body`.
  /// - Throws: the error of `body`; `CancellationError` if the task is cancelled before it has the lock;
  ///   ``SchedulerError/deadlock`` if the task has the lock already. In these two cases `body` is not called.
  public func withLock<Result: ~Copyable>(
    isolation: isolated (any Actor)? = #isolation, _ body: (inout sending Value) async throws -> sending Result
  ) async throws -> sending Result {
    // waits for the lock
    if try !permit.takeIfFree(1) { try await permit.outcome(of: request(), isolation: isolation) }
    holder.didLock(hasWaiters: permit.hasWaiters)
    defer { unlock() }
    return try await body(&value.pointee)
  }

  /// Calls `body` with the value as ``withLock(isolation:_:)`` does, if the task gets the lock before `deadline`.
  ///
  /// - Parameters:
  ///   - deadline: the end of the wait. `body` may run longer. A deadline in the past does not wait.
  ///   - clock: the clock of `deadline`; for the time of a scheduler its ``SchedulerType/clock``.
  ///   - isolation: the caller's isolation, in which this function runs.
  ///   - body: the work on the value, called once, in the calling task.
  /// - Returns: the result of `body`.
  /// - Throws: what ``withLock(isolation:_:)`` throws; ``SchedulerError/timeout`` if the task has not got the lock by
  ///   `deadline`.
  public func withLock<Result: ~Copyable, C: Clock>(
    deadline: C.Instant, clock: C = ContinuousClock(), isolation: isolated (any Actor)? = #isolation,
    _ body: (inout sending Value) async throws -> sending Result
  ) async throws -> sending Result {
    if try !permit.takeIfFree(1) {
      try await permit.outcome(of: request(), AnyDeadline(deadline, clock), isolation: isolation)  // waits for the lock
    }
    holder.didLock(hasWaiters: permit.hasWaiters)
    defer { unlock() }
    return try await body(&value.pointee)
  }

  /// Calls `body` as ``withLock(deadline:clock:isolation:_:)`` does, without a clock; inside `withVirtualTime` the
  /// deadline is of that time.
  ///
  /// - Parameters:
  ///   - deadline: the end of the wait. `body` may run longer. A deadline in the past does not wait.
  ///   - isolation: the caller's isolation, in which this function runs.
  ///   - body: the work on the value, called once, in the calling task.
  /// - Returns: the result of `body`.
  /// - Throws: what ``withLock(deadline:clock:isolation:_:)`` throws.
  public func withLock<Result: ~Copyable>(
    deadline: Deadline, isolation: isolated (any Actor)? = #isolation,
    _ body: (inout sending Value) async throws -> sending Result
  ) async throws -> sending Result {
    try await withLock(deadline: deadline, clock: DeadlineClock(), isolation: isolation, body)
  }

  /// Calls `body` with the value if the lock is free and no task waits; otherwise returns `nil`. Never waits.
  ///
  /// - Parameter body: the work on the value, called at most once.
  /// - Returns: the result of `body`, or `nil`.
  public func withLockIfAvailable<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result? {
    guard permit.tryTake(1) else { return nil }
    holder.didLock(hasWaiters: permit.hasWaiters)
    defer { unlock() }
    return try body(&value.pointee)
  }

  /// Whether a task has the lock at this instant, for diagnostics.
  public var isLocked: Bool { permit.counts.free == 0 }

  /// The number of tasks that wait at this instant, for diagnostics.
  public var waiterCount: Int { permit.counts.waiters }

  /// Requests the lock, which was not free, for the current task. The caller then waits for the outcome. Throws
  /// `deadlock` if this task has the lock.
  private func request() throws -> AsyncUnits.Ticket {
    if !holder.willWait() { throw SchedulerError.deadlock }
    return permit.request(1)
  }

  private func unlock() {
    holder.willUnlock()  // first: after `give`, another task may call `didLock`, which this would overwrite
    permit.give(1)
  }
}

// Unchecked, because the compiler does not know that one task at a time uses `value`. `Value` need not be Sendable: it
// is sent in and out.
extension AsyncLock: @unchecked Sendable where Value: ~Copyable {}

/// Records the task that has an ``AsyncLock``, and raises this task's priority to that of the tasks that wait for the
/// lock.
private final class LockHolder: @unchecked Sendable {
  // Unchecked, because the compiler does not know that `lock` guards the fields.
  private let lock = UnfairLock()
  /// The task that has the AsyncLock, and so has not ended; 0: none. An address, because each access to an
  /// `UnsafeCurrentTask` would retain the task.
  @exclusivity(unchecked) private var task: UInt = 0
  /// The highest raw priority of the waiting tasks; 0: none waits. It may be the priority of a task that no longer
  /// waits.
  @exclusivity(unchecked) private var waitersPriority: UInt8 = 0
  /// The number of threads that are raising the priority of `task` at this moment.
  @exclusivity(unchecked) private var escalations = 0
  private let escalated = UnfairLock.Condition()  // signalled when `escalations` decreases

  /// The address of the current task; 0 outside of tasks.
  private static var current: UInt { withUnsafeCurrentTask { unsafeBitCast($0, to: UInt.self) } }

  /// Called when the current task has got the AsyncLock. Raises the task's priority to that of the waiting tasks.
  @inline(never) func didLock(hasWaiters: Bool) {
    let current = Self.current
    lock.lock()
    task = current
    if !hasWaiters { waitersPriority = 0 }  // otherwise it may be too high: the priority of a task that no longer waits
    if waitersPriority == 0 { lock.unlock() } else { escalateAndUnlock() }
  }

  /// Called before `task` releases the AsyncLock. Waits until no thread raises the priority of `task`, because the task
  /// may end after this call.
  @inline(never) func willUnlock() {
    lock.lock()
    while escalations > 0 { escalated.wait(with: lock) }
    task = 0  // no thread raises the priority of this task any more
    lock.unlock()
  }

  /// Called before the current task waits. Raises the priority of `task` to that of the current task; for later holders
  /// `didLock` raises it.
  /// Returns false, without an effect, if the current task has the AsyncLock itself.
  @inline(never) func willWait() -> Bool {
    let current = Self.current, priority = Task.currentPriority.rawValue
    lock.lock()
    if current != 0, task == current {  // deadlock: the task would wait for itself
      lock.unlock()
      return false
    }
    waitersPriority = max(waitersPriority, priority)
    escalateAndUnlock()
    return true
  }

  /// Raises the priority of `task` to `waitersPriority`, and unlocks `lock`. Unlocks before the raise, because the
  /// runtime then calls user handlers.
  private func escalateAndUnlock() {
    if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *), task != 0 {
      let holder = unsafeBitCast(task, to: UnsafeCurrentTask.self), priority = TaskPriority(rawValue: waitersPriority)
      if holder.priority < priority {
        escalations += 1
        lock.unlock()  // `willUnlock` waits while `escalations` is not 0, so `holder` cannot end before the raise
        holder.escalatePriority(to: priority)
        lock.lock()
        escalations -= 1
        escalated.broadcast()
      }
    }
    lock.unlock()
  }
}
