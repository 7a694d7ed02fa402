import SchedulerVirtualTime
import TestSupport
import Testing

/// A sleep arrives as an instant of real time. Its duration is estimated from the remaining time and the time since the
/// start of its job.
@Suite(.nothingIsLeft) struct RoundestTests {
  private static let durations: [Duration] = [
    .milliseconds(1), .milliseconds(2), .milliseconds(9), .milliseconds(10), .milliseconds(25), .milliseconds(100),
    .milliseconds(250),
    .seconds(1), .milliseconds(1_500), .seconds(59), .seconds(60), .seconds(3_600), .seconds(86_400),
  ]
  private static let work: [Duration] = [
    .microseconds(30), .microseconds(700), .milliseconds(9), .milliseconds(200), .seconds(2),
  ]

  /// In how many of 400 cases, of which nine in ten must do, the estimate is `duration`, if its clock was read
  /// `beforeSleep` ns before the sleep, and `afterStart` after the start.
  private func hits(_ duration: Duration, beforeSleep: ClosedRange<Int>, afterStart: ClosedRange<Int>) -> Int {
    var random = SeededGenerator(seed: 7)
    return (0..<400).count { _ in
      let before = Duration.nanoseconds(Int.random(in: beforeSleep, using: &random))
      let after = Duration.nanoseconds(Int.random(in: afterStart, using: &random))
      return (duration - before).roundest(within: before + after) == duration
    }
  }

  private static func around(_ span: Duration) -> ClosedRange<Int> {
    let center = Int(span / .nanoseconds(1))
    return center...center * 3 / 2
  }

  @Test("a sleep after any work has the duration that was written", arguments: work) func afterWork(work: Duration) {
    for duration in Self.durations {
      #expect(hits(duration, beforeSleep: 500...15_000, afterStart: Self.around(work)) >= 360, "\(duration)")
    }
  }

  @Test("so has a sleep until an instant that was made before the work", arguments: work) func untilEarlierInstant(
    work: Duration
  ) {
    for duration in Self.durations {
      #expect(hits(duration, beforeSleep: Self.around(work), afterStart: 500...20_000) >= 360, "\(duration)")
    }
  }

  @Test("so has a sleep of a thread that loses its processor in between") func interrupted() {
    for duration in Self.durations {
      #expect(hits(duration, beforeSleep: 1_000_000...4_000_000, afterStart: 5_000...30_000) >= 360, "\(duration)")
    }
  }

  @Test("a long sleep until an instant that was made during the work") func duringWork() {
    for duration: Duration in [.seconds(1), .seconds(60), .seconds(3_600)] {
      #expect(hits(duration, beforeSleep: 0...9_000_000, afterStart: 0...9_000_000) >= 360, "\(duration)")
    }
  }

  @Test("the ends of time") func ends() {
    #expect(Duration.seconds(-1).roundest(within: .milliseconds(1)) == .zero)
    #expect(Duration.zero.roundest(within: .zero) == .zero)
    #expect(Duration.nanoseconds(1).roundest(within: .zero) == .nanoseconds(1))
    #expect(Duration.seconds(Int64.max).roundest(within: .seconds(1)) == .seconds(Int64.max))
    #expect(Duration.seconds(-1).roundest(within: .seconds(2)) == .seconds(1))
  }
}
