internal import CScheduler

/// How much work a scheduler received, how long it waited, and how long it ran: ``SchedulerTarget/workStatistics``.
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
  /// The number of system calls to sleep or wake, made by the scheduler's actions and by submissions to it.
  public let systemCalls: UInt64
  /// The time from the submission, or the deadline, to the start. Not available in virtual time.
  public let latency: Spans
  /// The time from the start of an action to its end.
  public let runTime: Spans
}

extension SchedulerTarget {
  /// The work since ``Schedulers/startCounting()`` that was submitted to this scheduler itself, without schedulers that target it. `nil` if there
  /// was none. The figures are read one after the other while work continues. Thread: any.
  public final var workStatistics: SchedulerStatistics? {
    var found = csched_statistics()
    guard csched_target_statistics(core.target, &found) else { return nil }
    return SchedulerStatistics(
      submitted: found.submitted, run: found.run, cancelled: found.cancelled, dropped: found.dropped,
      depth: found.waiting, wakes: found.wakes, systemCalls: found.system_calls, latency: .init(found.latency),
      runTime: .init(found.run_time))
  }
}

extension Schedulers {
  /// Starts to count the work submitted to each scheduler, how long it waits, and how long it runs: ``SchedulerTarget/workStatistics``.
  ///
  /// ```swift
  /// try Schedulers.startCounting()
  /// serve()
  /// print(database.workStatistics?.latency.p99 ?? .zero)
  /// ```
  ///
  /// Counting costs about 200 ns for each action. While no tool observes work, the cost is two instructions. Work submitted from now on is counted to
  /// its end. Up to 4 096 schedulers are distinguished at a time, and up to 57 344 waiting actions. Work beyond that is not counted. Thread: any.
  ///
  /// - Throws: ``SchedulerError/system(_:)`` with `ENOMEM`.
  public static func startCounting() throws(SchedulerError) {
    let error = csched_statistics_begin()
    if error != 0 { throw SchedulerError.system(error) }
  }

  /// Stops counting. The counts remain, and ``startCounting()`` continues from them. Thread: any.
  public static func stopCounting() { csched_statistics_end() }
}
