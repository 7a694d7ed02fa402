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
  public func ticks(_ timing: ActionTiming) -> some AsyncSequence<MonotonicTime, any Error> & Sendable {
    SchedulerTicks(scheduler: self, timing: timing)
  }

  /// The instants of every `period` from now on: see ``ticks(_:)``. Ticks that are missed become one.
  ///
  /// - Parameters:
  ///   - period: the time from tick to tick, and until the first.
  ///   - tolerance: up to how much later than it is due a tick may come.
  /// - Returns: a sequence of the instants at which the ticks were due.
  public func ticks(every period: Duration, tolerance: Duration = .zero) -> some AsyncSequence<
    MonotonicTime, any Error
  > & Sendable {
    ticks(.every(period, tolerance: tolerance))
  }
}

/// The instants of a timing on a scheduler.
private struct SchedulerTicks: AsyncSequence, Sendable {
  typealias Element = MonotonicTime
  typealias Failure = any Error

  let scheduler: any SchedulerType
  let timing: ActionTiming

  func makeAsyncIterator() -> Iterator { Iterator(scheduler: scheduler, timing: timing) }

  /// One iteration.
  struct Iterator: AsyncIteratorProtocol {
    let scheduler: any SchedulerType
    let timing: ActionTiming
    /// When the last tick was due, and when it came.
    private var last: (due: MonotonicTime, came: MonotonicTime)?
    private var isOver = false
    /// Tells the jitter of this iteration from that of others.
    private let salt = UnsafeRawPointer(bitPattern: UInt.random(in: 1...UInt.max))

    init(scheduler: any SchedulerType, timing: ActionTiming) {
      self.scheduler = scheduler
      self.timing = timing
    }

    mutating func next() async throws -> MonotonicTime? { try await next(isolation: nil) }

    mutating func next(isolation: isolated (any Actor)?) async throws -> MonotonicTime? {
      guard !isOver else { return nil }
      isOver = true  // unless it gets to the tick
      let now = scheduler.now
      let due =
        last.map { timing.next(after: $0.due, begunAt: $0.came, endedAt: now) }
        ?? timing.first(from: now)
      guard let due else { return nil }
      do {
        try await scheduler.suspendTask(until: jittered(due), tolerance: timing.tolerance, isolation: isolation)
      } catch is CancellationError {
        return nil
      }
      last = (due, scheduler.now)
      isOver = false
      return due
    }

    /// The end of time stays what it is.
    private func jittered(_ due: MonotonicTime) -> MonotonicTime {
      guard let repetition = timing.repetition, !scheduler.isVirtual else { return due }
      return MonotonicTime(nanoseconds: repetition.jittered(due.nanoseconds, of: salt))
    }
  }
}
