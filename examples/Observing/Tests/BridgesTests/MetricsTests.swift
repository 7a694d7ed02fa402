import Bridges
import Metrics
import MetricsTestKit
import Scheduler
import Testing

/// Schedulers in virtual time are observed, and publish, so that each figure is known.
@Suite struct MetricsTests {
  /// A scheduler whose figures are published every ten seconds.
  private struct Published {
    let scheduler = TestScheduler()
    let clock = TestScheduler()
    let metrics = TestMetrics()
    let publication: any Disposable

    init() throws {
      publication = try Schedulers.publishStatistics(
        of: ["observed": scheduler], every: .seconds(10), on: clock, to: metrics)
    }

    func counted(_ label: String) throws -> [Int64] {
      try metrics.expectCounter("scheduler.\(label)", [("scheduler", "observed")]).values
    }

    func depths() throws -> [Double] {
      try metrics.expectGauge("scheduler.depth", [("scheduler", "observed")]).values
    }

    func times(_ label: String) throws -> [Int64] {
      try metrics.expectTimer("scheduler.\(label)", [("scheduler", "observed")]).values
    }
  }

  @Test("a counter is published by what has come since the last time") func differences() throws {
    let published = try Published(), scheduler = published.scheduler
    for _ in 0..<5 { scheduler.schedule {} }
    scheduler.schedule {}.dispose()
    scheduler.advance()
    for _ in 0..<3 { scheduler.schedule {} }
    published.clock.advance(by: .seconds(10))
    #expect(try published.counted("submitted") == [9])
    #expect(try published.counted("run") == [5])
    #expect(try published.counted("cancelled") == [1])
    #expect(try published.counted("dropped") == [])
    #expect(try published.depths() == [3])

    scheduler.advance()
    published.clock.advance(by: .seconds(10))
    #expect(try published.counted("submitted") == [9])
    #expect(try published.counted("run") == [5, 3])
    #expect(try published.depths() == [3, 0])

    published.clock.advance(by: .seconds(30))
    #expect(try published.counted("run") == [5, 3])
    #expect(try published.depths() == [3, 0, 0, 0, 0])
    published.publication.dispose()
  }

  @Test("what was counted before the publication began is not in it") func before() throws {
    try Schedulers.startCounting()
    let scheduler = TestScheduler(), clock = TestScheduler(), metrics = TestMetrics()
    for _ in 0..<7 { scheduler.schedule {} }
    scheduler.advance()
    #expect(scheduler.statistics.work?.run == 7)
    let publication = try Schedulers.publishStatistics(
      of: ["observed": scheduler], every: .seconds(1), on: clock, to: metrics)
    scheduler.schedule {}
    scheduler.advance()
    clock.advance(by: .seconds(1))
    #expect(metrics.counterTotal(label: "scheduler.run") == 1)
    publication.dispose()
  }

  @Test("nothing is published after the disposal, and nothing is kept") func disposed() throws {
    let published = try Published()
    published.scheduler.schedule {}
    published.clock.advance(by: .seconds(10))
    #expect(try published.depths() == [1])
    published.publication.disposeAndWait()
    published.scheduler.schedule {}
    published.clock.advance(by: .seconds(100))
    #expect(try published.counted("submitted") == [1])
    #expect(try published.depths() == [1])
  }

  @Test("times are published when something has run, and those of a thread are what it took") func times() throws {
    let published = try Published()
    published.scheduler.schedule { _ = CountingSemaphore().wait(for: .milliseconds(20)) }
    published.clock.advance(by: .seconds(10))
    #expect(try published.times("run_time.max") == [])
    published.scheduler.advance()
    published.clock.advance(by: .seconds(20))
    let longest = try published.times("run_time.max")
    #expect(longest.count == 1 && longest[0] >= 20_000_000)
    #expect(try published.times("run_time.p50").count == 1)
    published.publication.dispose()

    let thread = try ThreadScheduler(name: "timed"), clock = TestScheduler(), metrics = TestMetrics()
    let publication = try Schedulers.publishStatistics(
      of: [thread.name: thread], every: .seconds(1), on: clock, to: metrics)
    let hold = ActionGroup(entered: 1), began = ActionGroup(entered: 1)
    thread.schedule {
      began.leave()
      hold.wait()
    }
    began.wait()
    thread.schedule {}
    _ = CountingSemaphore().wait(for: .milliseconds(20))
    hold.leave()
    finish(thread)
    clock.advance(by: .seconds(1))
    publication.dispose()
    let dimensions = [("scheduler", "timed")]
    for label in ["latency", "run_time"] {
      let all = try ["p50", "p99", "max"].map { try metrics.expectTimer("scheduler.\(label).\($0)", dimensions).values }
      #expect(all.allSatisfy { $0.count == 1 })
      let times = all.flatMap { $0 }
      #expect(times[2] >= 20_000_000 && times[0] <= times[1] && times[1] <= times[2], "\(label)")
    }
  }

  @Test("what a stopped thread drops is published, on a thread, too") func drops() throws {
    let observed = try ThreadScheduler(name: "dropping"), publisher = try ThreadScheduler(name: "publisher")
    let metrics = TestMetrics()
    let publication = try Schedulers.publishStatistics(
      of: ["dropping": observed], every: .milliseconds(5), on: publisher, to: metrics)
    let hold = ActionGroup(entered: 1), began = ActionGroup(entered: 1)
    observed.schedule {
      began.leave()
      hold.wait()
    }
    for _ in 0..<4 { observed.schedule {} }
    began.wait()
    observed.stop(.dropOutstanding)
    hold.leave()
    observed.join()
    #expect(eventually { metrics.counterTotal(label: "scheduler.dropped") == 4 })
    #expect(eventually { metrics.counterTotal(label: "scheduler.run") == 1 })
    #expect(metrics.counterTotal(label: "scheduler.submitted") == 5)
    publication.disposeAndWait()
    let depth = try metrics.expectGauge("scheduler.depth", [("scheduler", "dropping")])
    let last = depth.values.count
    _ = CountingSemaphore().wait(for: .milliseconds(30))
    #expect(depth.values.count == last)
    finish(publisher)
  }

  @Test("schedulers on a pool have their figures together where they have no limit, and apart where they have one")
  func shared() throws {
    try Schedulers.startCounting()
    let (one, other) = (ConcurrentScheduler(priority: .low), ConcurrentScheduler(priority: .low))
    one.schedule {}
    #expect(eventually { one.statistics.work?.run == 1 && other.statistics.work?.run == 1 })
    let limited = ConcurrentScheduler(priority: .low, limit: 1)
    #expect(limited.statistics.work == nil)
    limited.schedule {}
    #expect(eventually { limited.statistics.work?.run == 1 })
    #expect(one.statistics.work?.submitted == other.statistics.work?.submitted)
  }
}
