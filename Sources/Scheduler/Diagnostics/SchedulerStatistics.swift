internal import CScheduler

/// How much work went through a scheduler, how long it waited, and how long it ran: ``SchedulerTarget/workStatistics``.
public struct SchedulerStatistics: Hashable, Sendable {
  /// How long things took. The middle one and the 99th of a hundred are too large by an eighth at the most.
  public struct Spans: Hashable, Sendable {
    /// Half of all took no longer.
    public let p50: Duration
    /// 99 of a hundred took no longer.
    public let p99: Duration
    /// The longest.
    public let max: Duration

    init(_ spans: csched_span_statistics) {
      p50 = .nanoseconds(Int64(clamping: spans.p50))
      p99 = .nanoseconds(Int64(clamping: spans.p99))
      max = .nanoseconds(Int64(clamping: spans.max))
    }
  }

  /// Actions and jobs of tasks, delayed ones too; a repeating action's once for each call.
  public let submitted: UInt64
  /// Those that have run to their end.
  public let run: UInt64
  /// Those that were disposed before they began.
  public let cancelled: UInt64
  /// Those that were dropped: refused, or given up by a stop.
  public let dropped: UInt64
  /// How many were submitted and have not begun, now. Delayed ones are among them.
  public let depth: UInt64
  /// How many submissions found that a thread had to be woken.
  public let wakes: UInt64
  /// The system's calls to sleep or wake that its actions, and submissions to it, have made.
  public let systemCalls: UInt64
  /// From the submission, or the deadline, to the beginning. In virtual time there is none.
  public let latency: Spans
  /// From the beginning of an action to its end.
  public let runTime: Spans
}

extension SchedulerTarget {
  /// What it has done after ``Schedulers/startCounting()``: what was submitted to it itself, and not to schedulers on it. `nil`: nothing was. The figures
  /// are read one after the other, while all goes on. Any thread.
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
  /// Begins to count what is submitted to each scheduler, how long it waits, and how long it runs: ``SchedulerTarget/workStatistics``.
  ///
  /// ```swift
  /// try Schedulers.startCounting()
  /// serve()
  /// print(database.workStatistics?.latency.p99 ?? .zero)
  /// ```
  ///
  /// It costs about 200 ns for each action; while nothing looks at work, two instructions. What is submitted from now on is counted to its end. Up to
  /// 4 096 schedulers are told apart at a time, and up to 57 344 actions that wait; what is beyond that is not counted. Any thread.
  ///
  /// - Throws: ``SchedulerError/system(_:)`` with `ENOMEM`.
  public static func startCounting() throws(SchedulerError) {
    let error = csched_statistics_begin()
    if error != 0 { throw SchedulerError.system(error) }
  }

  /// Ends that. What was counted stays, and ``startCounting()`` goes on from there. Any thread.
  public static func stopCounting() { csched_statistics_end() }
}
