extension SchedulerType {
  /// Returns a sequence of the instants of `timing`. Each step of an iteration waits for the next instant.
  ///
  /// ```swift
  /// for try await tick in scheduler.ticks(every: .seconds(1)) { show(tick) }
  /// ```
  ///
  /// 1. The timing of each iteration starts at its first call of `next()`. No timer runs between two calls of `next()`.
  ///    For ticks that were due between two calls, the timing's rule for late ticks applies.
  /// 2. If the task is cancelled, the sequence ends.
  /// 3. If the scheduler has been stopped, or is stopped during the wait, the iteration throws
  ///    ``SchedulerError/stopped``. If the scheduler is a group's, and ``ActionGroup/cancelAll()`` is called during the
  ///    wait, it throws `CancellationError`.
  ///
  /// - Parameter timing: when the ticks are due. The time that the task spends between two ticks counts as the run of
  ///   the tick.
  /// - Returns: a sequence of the instants at which the ticks were due.
  public func ticks(_ timing: ActionTiming) -> some AsyncSequence<MonotonicTime, any Error> & Sendable {
    SchedulerTicks(scheduler: self, timing: timing)
  }

  /// Returns a sequence with a tick in every `period`: see ``ticks(_:)``. Several missed ticks become one tick.
  ///
  /// - Parameters:
  ///   - period: the time between ticks, and before the first tick.
  ///   - tolerance: how much later than due a tick may come.
  /// - Returns: a sequence of the instants at which the ticks were due.
  public func ticks(every period: Duration, tolerance: Duration = .zero) -> some AsyncSequence<
    MonotonicTime, any Error
  > & Sendable {
    ticks(.every(period, tolerance: tolerance))
  }
}

/// The sequence of the instants of `timing`, in the time of `scheduler`.
private struct SchedulerTicks: AsyncSequence, Sendable {
  typealias Element = MonotonicTime
  typealias Failure = any Error

  let scheduler: any SchedulerType
  let timing: ActionTiming

  func makeAsyncIterator() -> Iterator { Iterator(scheduler: scheduler, timing: timing) }

  struct Iterator: AsyncIteratorProtocol {
    let scheduler: any SchedulerType
    let timing: ActionTiming
    /// When the previous tick was due, and when `next` returned it.
    private var previous: (due: MonotonicTime, came: MonotonicTime)?
    private var isOver = false  // `next` returns nil
    /// Distinguishes the random jitter of this iteration from that of other iterations. Not a real address.
    private let salt = UnsafeRawPointer(bitPattern: UInt.random(in: 1...UInt.max))

    init(scheduler: any SchedulerType, timing: ActionTiming) {
      self.scheduler = scheduler
      self.timing = timing
    }

    mutating func next() async throws -> MonotonicTime? { try await next(isolation: nil) }

    mutating func next(isolation: isolated (any Actor)?) async throws -> MonotonicTime? {
      guard !isOver else { return nil }
      isOver = true  // reset below if a tick comes; so each other exit of this function ends the iteration
      let now = scheduler.now
      let due =
        previous.map { timing.next(after: $0.due, begunAt: $0.came, endedAt: now) }
        ?? timing.first(from: now)
      guard let due else { return nil }  // no tick remains
      do {
        try await scheduler.suspendTask(until: jittered(due), tolerance: timing.tolerance, isolation: isolation)
      } catch is CancellationError where Task.isCancelled {
        return nil
      }  // other errors are thrown to the caller
      previous = (due, scheduler.now)
      isOver = false
      return due
    }

    /// Adds the timing's random jitter to `due`, except in virtual time. The latest instant stays unchanged.
    private func jittered(_ due: MonotonicTime) -> MonotonicTime {
      guard let repetition = timing.repetition, !scheduler.isVirtual else { return due }
      return MonotonicTime(nanoseconds: repetition.jittered(due.nanoseconds, of: salt))
    }
  }
}
