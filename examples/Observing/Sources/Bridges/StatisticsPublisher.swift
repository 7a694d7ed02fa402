import Metrics
import Scheduler

extension Schedulers {
  /// Publishes what `schedulers` have done, again and again, as metrics, until what is returned is disposed.
  ///
  /// ```swift
  /// let metrics = try Schedulers.publishStatistics(of: ["database": database, "images": images], every: .seconds(10), on: workers)
  /// …
  /// metrics.disposeAndWait()   // nothing is published after that
  /// ```
  ///
  /// Each metric has a dimension `scheduler`, the name that is given here.
  ///
  /// | | |
  /// |---|---|
  /// | counters | `scheduler.submitted` `.run` `.cancelled` `.dropped` `.wakes` `.steals` `.system_calls`, by what has come since the last time |
  /// | gauge | `scheduler.depth`: how many wait now |
  /// | timers | `scheduler.latency.p50` `.p99` `.max`, `scheduler.run_time.p50` `.p99` `.max`, when something has run since the last time |
  ///
  /// 1. It begins to count (`Schedulers.startCounting()`), and publishes what comes from now on. Counting goes on after
  ///    the disposal, because others may look at it: `Schedulers.stopCounting()` ends it.
  /// 2. Quantiles and maxima are those of all that was counted so far, not those of one period.
  /// 3. Concurrent schedulers without a limit have their figures together where they share pool and priority: publish
  ///    one of them.
  /// 4. What publishes is an action as any: counted, too, where its scheduler is one of `schedulers`.
  /// 5. The schedulers are kept until the disposal.
  ///
  /// - Parameters:
  ///   - schedulers: by the names to publish them under.
  ///   - period: from one publication to the next; each may come a tenth of it late, so that fewer wakeups serve more
  ///     timers.
  ///   - scheduler: where the metrics are made and set.
  ///   - factory: the metrics' backend; by default the one that the program was set up with.
  /// - Throws: `SchedulerError` where there is no memory to count with.
  public static func publishStatistics(
    of schedulers: [String: SchedulerTarget], every period: Duration, on scheduler: some SchedulerType,
    to factory: any MetricsFactory = MetricsSystem.factory
  ) throws(SchedulerError) -> any Disposable {
    try startCounting()
    let all = schedulers.map { PublishedScheduler($0.value, as: $0.key, to: factory) }
    return scheduler.schedule(.every(period, tolerance: period / 10)) {
      for each in all { each.publish() }
    }
  }
}

/// One scheduler's metrics, and what they were last time.
private final class PublishedScheduler: Sendable {
  private let scheduler: SchedulerTarget
  private let last: Protected<SchedulerStatistics.Work?>
  private let counters: [(figure: KeyPath<SchedulerStatistics.Work, UInt64> & Sendable, counter: Counter)]
  private let depth: Gauge
  private let latency: SpanTimers
  private let runTime: SpanTimers

  init(_ scheduler: SchedulerTarget, as name: String, to factory: any MetricsFactory) {
    self.scheduler = scheduler
    last = Protected(scheduler.statistics.work)
    let dimensions = [("scheduler", name)]
    func counter(_ label: String) -> Counter { Counter(label: label, dimensions: dimensions, factory: factory) }
    counters = [
      (\.submitted, counter("scheduler.submitted")), (\.run, counter("scheduler.run")),
      (\.cancelled, counter("scheduler.cancelled")), (\.dropped, counter("scheduler.dropped")),
      (\.wakes, counter("scheduler.wakes")), (\.steals, counter("scheduler.steals")),
      (\.systemCalls, counter("scheduler.system_calls")),
    ]
    depth = Gauge(label: "scheduler.depth", dimensions: dimensions, factory: factory)
    latency = SpanTimers("scheduler.latency", dimensions, factory)
    runTime = SpanTimers("scheduler.run_time", dimensions, factory)
  }

  /// Called by the periodic action, whose ticks never overlap.
  func publish() {
    guard let now = scheduler.statistics.work else { return }  // nothing was submitted to it yet
    let before = last.exchange(now)
    for (figure, counter) in counters {
      let difference = Self.difference(now[keyPath: figure], before?[keyPath: figure] ?? 0)
      if difference > 0 { counter.increment(by: difference) }
    }
    depth.record(now.depth)
    if Self.difference(now.run, before?.run ?? 0) > 0 {
      latency.record(now.latency)
      runTime.record(now.runTime)
    }
  }

  /// What has come since `before`. Figures that are less than before began anew: the core had needed their room for
  /// another scheduler.
  private static func difference(_ now: UInt64, _ before: UInt64) -> UInt64 { now < before ? now : now - before }
}

/// The timers of one kind of span.
private struct SpanTimers: Sendable {
  private let p50, p99, max: Timer

  init(_ label: String, _ dimensions: [(String, String)], _ factory: any MetricsFactory) {
    func timer(_ quantile: String) -> Timer {
      Timer(label: "\(label).\(quantile)", dimensions: dimensions, factory: factory)
    }
    (p50, p99, max) = (timer("p50"), timer("p99"), timer("max"))
  }

  func record(_ spans: SchedulerStatistics.Spans) {
    p50.record(duration: spans.p50)
    p99.record(duration: spans.p99)
    max.record(duration: spans.max)
  }
}
