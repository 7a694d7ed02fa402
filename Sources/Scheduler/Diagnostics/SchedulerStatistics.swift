internal import CScheduler

/// The figures of one scheduler: ``SchedulerTarget/statistics``.
public struct SchedulerStatistics: Hashable, Sendable {
  /// A distribution of durations. The median and the 99th percentile are too large by at most an eighth.
  public struct Spans: Hashable, Sendable {
    /// The median: half of the durations are no longer.
    public let p50: Duration
    /// The 99th percentile: 99 of 100 durations are no longer.
    public let p99: Duration
    /// The longest duration.
    public let max: Duration

    init(_ spans: csched_span_statistics) {
      p50 = .nanoseconds(Int64(clamping: spans.p50))
      p99 = .nanoseconds(Int64(clamping: spans.p99))
      max = .nanoseconds(Int64(clamping: spans.max))
    }
  }

  /// The work that a scheduler received since ``Schedulers/startCounting()``, how long it waited, and how long it ran.
  public struct Work: Hashable, Sendable {
    /// The number of actions and jobs of tasks, delayed ones included. A repeating action counts once for each call.
    public let submitted: UInt64
    /// The number of submitted actions that have run to their end.
    public let run: UInt64
    /// The number of submitted actions that were disposed before they started.
    public let cancelled: UInt64
    /// The number of submitted actions that were dropped: refused, or discarded by a stop.
    public let dropped: UInt64
    /// The number of submitted actions that wait, delayed ones included.
    public let depth: UInt64
    /// The number of submissions that had to wake a thread.
    public let wakes: UInt64
    /// The number of parts of `concurrentPerform` calls in its actions that ran on other threads than the caller's.
    public let steals: UInt64
    /// The number of system calls to sleep or wake that the scheduler's actions, and submissions to it, made.
    public let systemCalls: UInt64
    /// The time from the submission, or the deadline, to the start. Not available in virtual time.
    public let latency: Spans
    /// The time from the start of an action to its end.
    public let runTime: Spans
  }

  /// Totals of a scheduler's event loop since it was made. Each value only grows.
  public struct Loop: Hashable, Sendable {
    /// The number of actions that the loop has run or found disposed.
    ///
    /// Actions of serial schedulers on it, ticks and source handlers are included. A batch (at most 48 actions) is
    /// added when the next batch starts.
    public let actions: UInt64
    /// The number of sleeps.
    public let sleeps: UInt64
    /// The total time asleep. It includes the current sleep, but no sleeps of another library's main loop on its
    /// behalf.
    public let idle: Duration
  }

  /// The work submitted to this scheduler since ``Schedulers/startCounting()``, without work of schedulers that target
  /// it. `nil` if there was none.
  public let work: Work?
  /// The event loop of a ``ThreadScheduler`` or of ``MainScheduler``. `nil` for other schedulers.
  public let loop: Loop?
}

extension SchedulerTarget {
  /// The figures of this scheduler. They are read one after the other while work continues, so they may not add up.
  /// Thread: any.
  ///
  /// A loop is always counted: it reads the clock around each sleep, and never for an action. Work is counted after
  /// ``Schedulers/startCounting()``.
  public final var statistics: SchedulerStatistics {
    var work = csched_statistics()
    let hasWork = csched_target_statistics(core.target, &work)  // false: no work was counted
    return SchedulerStatistics(
      work: !hasWork
        ? nil
        : .init(
          submitted: work.submitted, run: work.run, cancelled: work.cancelled, dropped: work.dropped,
          depth: work.waiting, wakes: work.wakes, steals: work.steals, systemCalls: work.system_calls,
          latency: .init(work.latency),
          runTime: .init(work.run_time)),
      loop: self is LoopScheduler ? .init(loop: OpaquePointer(core.target)) : nil)
  }
}

extension SchedulerStatistics.Loop {
  /// - Parameter loop: the loop, which has the same address as its target.
  fileprivate init(loop: OpaquePointer) {
    var found = csched_loop_statistics()
    csched_loop_get_statistics(loop, &found)
    self.init(actions: found.jobs, sleeps: found.sleeps, idle: .nanoseconds(Int64(clamping: found.idle)))
  }
}

extension Schedulers {
  /// Starts to count the work submitted to each scheduler, how long it waits, and how long it runs:
  /// ``SchedulerTarget/statistics``.
  ///
  /// ```swift
  /// try Schedulers.startCounting()
  /// serve()
  /// print(database.statistics.work?.latency.p99 ?? .zero)
  /// ```
  ///
  /// Counting costs about 200 ns for each action. While no tool observes work, the cost is two instructions. Work
  /// submitted from now on is counted to its end. At most 4 096 schedulers are counted at a time, and at most 57 344
  /// waiting actions. Work beyond that is not counted. Thread: any.
  ///
  /// - Throws: ``SchedulerError/system(_:)`` with `ENOMEM`.
  public static func startCounting() throws(SchedulerError) {
    let error = csched_statistics_begin()
    if error != 0 { throw SchedulerError.system(error) }
  }

  /// Stops counting. The counts remain, and ``startCounting()`` continues from them. Thread: any.
  public static func stopCounting() { csched_statistics_end() }
}
