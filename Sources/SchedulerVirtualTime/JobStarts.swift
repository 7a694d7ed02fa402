/// When the running job began, in real time.
///
/// A sleep by Swift's own clocks comes as an instant of real time: the duration that the task asked for, after a look at the clock by an earlier line of
/// the same job. So the duration is not known, but between which two it lies.
struct JobStarts {
  private var began = ContinuousClock.now
  /// Where orders are drawn a task is queued again at each call, also between its look at the clock and its sleep.
  private var ofTasks: [UInt64: [ContinuousClock.Instant]] = [:]

  mutating func note(_ job: RoutedJob, isDrawn: Bool) {
    began = .now
    guard isDrawn, let task = job.task else { return }
    ofTasks[task, default: []].append(began)
    if ofTasks[task]!.count > 4 { ofTasks[task]!.removeFirst() }
    began = ofTasks[task]![0]
  }

  /// How long before now a task that sleeps may have looked at the clock.
  var elapsed: Duration { ContinuousClock.now - began }
}

extension Duration {
  /// The one of the fewest digits between this and this plus `slack`: what a programmer has written.
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
