/// The start of the running job, in real time.
///
/// A sleep on one of Swift's own clocks arrives as an instant of real time. The task read the clock earlier in the same job and added its
/// duration. So the exact duration is unknown, but it has a lower and an upper bound.
struct JobStarts {
  private var began = ContinuousClock.now
  /// With a seed, a task is queued again at each call, even between its read of the clock and its sleep.
  private var ofTasks: [UInt64: [ContinuousClock.Instant]] = [:]

  mutating func note(_ job: RoutedJob, isDrawn: Bool) {
    began = .now
    guard isDrawn, let task = job.task else { return }
    ofTasks[task, default: []].append(began)
    if ofTasks[task]!.count > 4 { ofTasks[task]!.removeFirst() }
    began = ofTasks[task]![0]
  }

  /// The longest time since a sleeping task may have read the clock.
  var elapsed: Duration { ContinuousClock.now - began }
}

extension Duration {
  /// The duration with the fewest digits between this one and this one plus `slack`: the one that the programmer most likely wrote.
  func roundest(within slack: Duration) -> Duration {
    guard components.seconds < 1_000_000_000, self + slack > .zero else { return max(self, .zero) }
    let low = max(1, nanoseconds), high = (self + slack).nanoseconds
    var step: Int64 = 1_000_000_000_000_000_000
    while step > 1 {
      let multiple = high / step * step
      if multiple >= low { return .nanoseconds(multiple) }
      step /= 10
    }
    return .nanoseconds(low)
  }

  private var nanoseconds: Int64 { components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000 }
}
