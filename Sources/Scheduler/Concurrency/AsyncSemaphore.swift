/// A counting semaphore for tasks: a task that waits is suspended, and no thread is blocked. Waiters get units in order
/// of arrival.
///
/// ```swift
/// let connections = AsyncSemaphore(units: 4)
/// let page = try await connections.withUnits { try await fetch(url) }
/// ```
///
/// 1. A free unit goes to the first waiter; no other task can take it. While the first waiter needs more units than are
///    free, later waiters wait too.
/// 2. A task that is cancelled stops waiting at once, and takes no unit.
/// 3. The task that gets a unit sees everything that happened before the signal of that unit.
/// 4. Any code may signal: a task, an action, a C callback. The waiting task continues on its own actor or executor.
/// 5. The semaphore raises no task's priority, because units have no owner. ``AsyncLock`` does.
///
/// To limit how many bodies run at a time, use ``AsyncLimit``. For threads use ``CountingSemaphore``.
public final class AsyncSemaphore: Sendable {
  private let units: AsyncUnits

  /// Creates a semaphore with `units` free units.
  ///
  /// - Parameter units: the initial number of free units, from 0 to 2^31 - 1. Another number stops the process with a
  ///   message.
  public init(units: Int = 0) { self.units = AsyncUnits(Int(checked(units, "AsyncSemaphore.init", "units"))) }

  /// Takes units. Suspends the task until they are free and all earlier waiters have theirs.
  ///
  /// - Parameters:
  ///   - count: how many units, all at once.
  ///   - isolation: the caller's isolation, in which this function runs.
  /// - Throws: `CancellationError` if the task is cancelled before it has the units.
  public func wait(_ count: Int = 1, isolation: isolated (any Actor)? = #isolation) async throws(CancellationError) {
    let count = Int(checked(count, "AsyncSemaphore.wait", "units"))
    if try units.takeIfFree(count) { return }
    // Without a deadline, `outcome` throws no other error than a cancellation.
    do { try await units.outcome(of: units.request(count), isolation: isolation) } catch { throw CancellationError() }
  }

  /// Takes units as ``wait(_:isolation:)`` does, but waits until `deadline` at the latest.
  ///
  /// - Parameters:
  ///   - count: how many units, all at once.
  ///   - deadline: the end of the wait. A deadline in the past does not wait.
  ///   - clock: the clock of `deadline`; for the time of a scheduler its ``SchedulerType/clock``.
  ///   - isolation: the caller's isolation, in which this function runs.
  /// - Throws: ``SchedulerError/timeout`` at the deadline; `CancellationError` if the task is cancelled first; the
  ///   clock's error if it cannot wait.
  public func wait<C: Clock>(
    _ count: Int = 1, deadline: C.Instant, clock: C = ContinuousClock(),
    isolation: isolated (any Actor)? = #isolation
  ) async throws {
    let count = Int(checked(count, "AsyncSemaphore.wait", "units"))
    if try units.takeIfFree(count) { return }
    try await units.outcome(of: units.request(count), AnyDeadline(deadline, clock), isolation: isolation)
  }

  /// Takes units as ``wait(_:deadline:clock:isolation:)`` does, without a clock; inside `withVirtualTime` the deadline
  /// is of that time.
  ///
  /// - Parameters:
  ///   - count: how many units, all at once.
  ///   - deadline: the end of the wait. A deadline in the past does not wait.
  ///   - isolation: the caller's isolation, in which this function runs.
  /// - Throws: what ``wait(_:deadline:clock:isolation:)`` throws.
  public func wait(
    _ count: Int = 1, deadline: Deadline, isolation: isolated (any Actor)? = #isolation
  ) async throws {
    try await wait(count, deadline: deadline, clock: DeadlineClock(), isolation: isolation)
  }

  /// Takes units if they are free and no task waits, and returns whether it took them. Never waits.
  ///
  /// - Parameter count: how many units, all at once.
  public func tryWait(_ count: Int = 1) -> Bool {
    units.tryTake(Int(checked(count, "AsyncSemaphore.tryWait", "units")))
  }

  /// Adds units. Waiters get them first. More than 2^31 - 1 free units stop the process with a message.
  ///
  /// - Parameter count: the number of units, from 0 to 2^31 - 1.
  public func signal(_ count: Int = 1) {
    guard units.give(Int(checked(count, "AsyncSemaphore.signal", "units"))) else {  // false: too many would be free
      misuse("AsyncSemaphore.signal", "more than 2147483647 units would be free. Signal once for each wait.")
    }
  }

  /// Takes units, calls `body`, and returns the units, also if `body` throws.
  ///
  /// - Parameters:
  ///   - count: how many units, all at once.
  ///   - isolation: the caller's isolation, in which this function runs.
  ///   - body: the work, called once, in the calling task.
  /// - Returns: the result of `body`.
  /// - Throws: the error of `body`; `CancellationError` if the task is cancelled before it has the units. Then `body`
  ///   is not called.
  public func withUnits<Value>(
    _ count: Int = 1, isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> sending Value
  ) async throws -> sending Value {
    let number = Int(checked(count, "AsyncSemaphore.withUnits", "units"))
    if try !units.takeIfFree(number) { try await units.outcome(of: units.request(number), isolation: isolation) }
    defer { units.give(number) }
    return try await body()
  }

  /// The number of free units at this instant, for diagnostics.
  public var freeUnits: Int { units.counts.free }

  /// The number of tasks that wait at this instant, for diagnostics.
  public var waiterCount: Int { units.counts.waiters }
}
