/// By what factor a contender's median has changed, and the interval that its rounds leave open.
package struct Change: Equatable {
  package let old, new: Double
  package let ratio, low, high: Double

  /// Fewer rounds than these say nothing about their spread: the interval is then as wide as the rounds are.
  static let fewestRounds = 6
  /// Fewer than these are not judged.
  static let fewestJudged = 3
  static let resamples = 4_000
  /// Each side of the interval leaves out one half of a hundredth.
  static let confidence = 0.99

  /// `old` and `new` are the rounds' medians, process by process. `nil` when one has fewer than three rounds or a
  /// factor means nothing.
  ///
  /// The interval is a percentile bootstrap in two stages: processes are drawn with replacement, then rounds from each.
  /// A process is what the system places anew, so where there are several their differences are in the interval; where
  /// there is one, only the rounds' are.
  package init?(from old: [[Double]], to new: [[Double]]) {
    let oldRounds = old.flatMap { $0 }, newRounds = new.flatMap { $0 }
    guard let oldLeast = oldRounds.min(), let newLeast = newRounds.min(), oldLeast > 0, newLeast > 0,
      min(oldRounds.count, newRounds.count) >= Change.fewestJudged
    else { return nil }
    self.old = median(oldRounds)
    self.new = median(newRounds)
    ratio = self.new / self.old
    if min(oldRounds.count, newRounds.count) < Change.fewestRounds {
      low = newLeast / oldRounds.max()!
      high = newRounds.max()! / oldLeast
      return
    }
    var generator = SeededGenerator(state: 1)
    let ratios = (0..<Change.resamples).map { _ in
      Change.resample(new, &generator) / Change.resample(old, &generator)
    }
    low = percentile(ratios, (1 - Change.confidence) / 2)
    high = percentile(ratios, (1 + Change.confidence) / 2)
  }

  private static func resample(_ processes: [[Double]], _ generator: inout SeededGenerator) -> Double {
    var drawn: [Double] = []
    for _ in processes {
      let process = processes[Int.random(in: processes.indices, using: &generator)]
      for _ in process { drawn.append(process[Int.random(in: process.indices, using: &generator)]) }
    }
    return median(drawn)
  }

  /// What the rounds do not explain: by what part the median has moved at the least, 0 when the interval has 1 in it.
  package var leastPart: Double { max(0, low - 1, 1 / high - 1) }

  /// Whether the whole interval is on one side of 1, by more than `drift`.
  package func isBeyond(drift: Double) -> Bool { low > 1 + drift || high < 1 / (1 + drift) }
}
