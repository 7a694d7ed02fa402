/// A `Clock` that shows the time of a ``VirtualTimeScheduler``, so that `Task.sleep(until:clock:)` and whatever else takes a clock
/// can be tested on it.
///
/// A task goes on where Swift puts it after a clock's sleep. Where the tasks of one actor must go on in the order in which they
/// were woken, use the scheduler's own ``VirtualTimeScheduler/sleep(until:isolation:)``, which resumes on the actor.
///
/// ```swift
/// let scheduler = TestScheduler()
/// let task = Task { try await Task.sleep(for: .seconds(10), clock: scheduler.clock) }
/// await scheduler.awaitSleepers(count: 1)
/// scheduler.advance(by: .seconds(10))
/// try await task.value
/// ```
public struct VirtualClock<Converter: VirtualTimeConverter>: Clock {
  /// The scheduler whose time it shows.
  public let scheduler: VirtualTimeScheduler<Converter>

  /// The scheduler's present.
  public var now: MonotonicTime { scheduler.now }

  /// A nanosecond.
  public var minimumResolution: Duration { .nanoseconds(1) }

  /// Suspends the task until the scheduler's clock has come to `deadline`. Virtual time is exact: the tolerance is of no use.
  ///
  /// - Parameters:
  ///   - deadline: until when to sleep.
  ///   - tolerance: no use is made of it.
  /// - Throws: `CancellationError` when the task is cancelled.
  public func sleep(until deadline: MonotonicTime, tolerance: Duration? = nil) async throws {
    try await scheduler.sleep(until: scheduler.converter.convertToVirtualTime(deadline))
  }
}
