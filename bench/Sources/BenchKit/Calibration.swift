/// Finds how many operations fill a sample.
package struct Calibration {
  /// The length of a sample, in nanoseconds.
  let length: Double
  /// How many calls must agree that a number is enough: one may have been slow because of another's turn on the processor.
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

  /// The number for the next round when `count` operations took much longer than they were to: 20 times, of which 19 can be a bad moment.
  package func corrected(_ count: Int, took: Double, least: Int) -> Int {
    took > 20 * length ? max(least, 64, count / 8) : count
  }
}
