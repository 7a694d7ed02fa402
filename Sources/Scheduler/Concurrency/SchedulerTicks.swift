extension SchedulerType {
  /// The instants of `timing`, to be waited for one after the other.
  ///
  /// ```swift
  /// for try await tick in scheduler.ticks(every: .seconds(1)) { show(tick) }
  /// ```
  ///
  /// 1. Each iteration counts from its first `next()`. It keeps nothing going between two of them: what the timing says of late ticks decides
  ///    about those that came while nobody waited.
  /// 2. A task that is cancelled gets no further tick: the sequence ends.
  /// 3. When the scheduler was stopped, or is meanwhile, the iteration throws ``SchedulerError/stopped``.
  ///
  /// - Parameter timing: when; the pace counts what the task does between two ticks as the tick's run.
  /// - Returns: a sequence of the instants at which the ticks were due.
  public func ticks(_ timing: ActionTiming) -> SchedulerTicks { SchedulerTicks(scheduler: self, timing: timing) }

  /// The instants of every `period` from now on: see ``ticks(_:)``. Ticks that are missed become one.
  ///
  /// - Parameters:
  ///   - period: the time from tick to tick, and until the first.
  ///   - tolerance: up to how much later than it is due a tick may come.
  /// - Returns: a sequence of the instants at which the ticks were due.
  public func ticks(every period: Duration, tolerance: Duration = .zero) -> SchedulerTicks {
    ticks(.every(period, tolerance: tolerance))
  }
}

/// The instants of a timing on a scheduler: see ``SchedulerType/ticks(_:)``.
public struct SchedulerTicks: AsyncSequence, Sendable {
  public typealias Element = MonotonicTime
  public typealias Failure = any Error

  /// The scheduler whose time it is.
  public let scheduler: any SchedulerType
  /// When the ticks come.
  public let timing: ActionTiming

  public func makeAsyncIterator() -> Iterator { Iterator(scheduler: scheduler, timing: timing) }

  /// One iteration.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let scheduler: any SchedulerType
    fileprivate let timing: ActionTiming
    /// When the last tick was due, and when it came.
    private var last: (due: MonotonicTime, came: MonotonicTime)?
    private var isOver = false

    fileprivate init(scheduler: any SchedulerType, timing: ActionTiming) {
      self.scheduler = scheduler
      self.timing = timing
    }

    public mutating func next() async throws -> MonotonicTime? { try await next(isolation: nil) }

    /// Suspends the task until the next tick, and returns when that was due; `nil` when the task is cancelled, or time has come to its end.
    public mutating func next(isolation: isolated (any Actor)?) async throws -> MonotonicTime? {
      guard !isOver else { return nil }
      isOver = true  // unless it gets to the tick
      let now = scheduler.now
      let due =
        last.map { timing.next(after: $0.due, begunAt: $0.came, endedAt: now) }
        ?? timing.first(from: now)
      guard let due else { return nil }
      do {
        try await scheduler.suspendTask(until: due, tolerance: timing.tolerance, isolation: isolation)
      } catch is CancellationError {
        return nil
      }
      last = (due, scheduler.now)
      isOver = false
      return due
    }
  }
}
