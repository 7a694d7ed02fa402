/// Finds how many operations fill a sample.
package struct Calibration {
  /// The length of a sample, in nanoseconds.
  let length: Double
  /// How many calls must agree that a number is enough: another process may have had the processor during one.
  private let looks = 3

  package init(length: Double) { self.length = length }

  /// At least `least`. `body` gives the nanoseconds that so many operations took.
  package func count(least: Int, _ body: (Int) -> Double) -> Int {
    // Some thousands at the least: waking the threads of a contended row takes longer than few operations do.
    var count = max(least, 64)
    while true {
      var took = Double.infinity
      for _ in 0..<looks where took > length / 4 { took = max(1, min(took, body(count))) }
      let isEnough = took >= length / 4 && (count >= 4_096 || took >= 8 * length)
      if isEnough || count >= 1 << 28 { return max(least, 64, Int(min(Double(count) * length / took, 1e9))) }
      count *= took < length / 64 ? 8 : 2
    }
  }
}

/// How many operations a contender's next round has: as many as the calibration found, and fewer while rounds take more
/// than 20 times as long as they were to. One such round changes nothing: up to 19 samples' time of it can be another
/// process's.
package struct Pace {
  package private(set) var count: Int
  private let calibrated: Int, least: Int
  private var slowRounds = 0

  package init(count: Int, least: Int) {
    self.count = count
    self.calibrated = count
    self.least = least
  }

  /// The round of `count` operations took so many nanoseconds; it was to take `length`.
  package mutating func note(took: Double, length: Double) {
    slowRounds = took > 20 * length ? slowRounds + 1 : 0
    if slowRounds >= 2 {
      count = max(least, 64, count / 8)
      slowRounds = 0
    } else if took < length / 2 {
      count = max(count, min(calibrated, count * 8))
    }
  }
}
