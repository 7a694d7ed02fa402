import BenchKit
import Testing

@Suite struct CalibrationTests {
  let calibration = Calibration(length: 15e6)

  /// Ten nanoseconds an operation; `slow` says which calls take a whole second longer.
  private func count(slow: (Int) -> Bool) -> Int {
    var calls = 0
    return calibration.count(least: 1) { operations in
      calls += 1
      return Double(operations) * 10 + (slow(calls) ? 1e9 : 0)
    }
  }

  @Test("a number fills a sample") func fills() { #expect(count { _ in false } == 1_500_000) }

  @Test("one slow call, at any moment, changes nothing", arguments: 1...12)
  func oneSlowCall(_ which: Int) { #expect(count { $0 == which } == 1_500_000) }

  @Test("the first two calls are slow, as when threads are being made, and nothing is settled by them")
  func slowBeginning() { #expect(count { $0 <= 2 } == 1_500_000) }

  @Test("operations that are slow indeed are few") func slowOperations() {
    #expect(calibration.count(least: 1) { Double($0) * 1e7 } == 64)
  }

  @Test("never fewer than asked for") func least() {
    #expect(calibration.count(least: 1_000_000) { Double($0) * 1_000 } == 1_000_000)
  }

  /// The number for the round after these, which took so many nanoseconds each; a round of 80 000 is to take 15 ms.
  private func next(after rounds: [Double], least: Int = 1) -> Int {
    var pace = Pace(count: 80_000, least: least)
    for took in rounds { pace.note(took: took, length: 15e6) }
    return pace.count
  }

  @Test("one round that took far too long changes nothing; two make the next ones shorter, and not below the least")
  func slowRounds() {
    #expect(next(after: [1e9]) == 80_000)
    #expect(next(after: [1e9, 15e6, 1e9]) == 80_000)
    #expect(next(after: [30e6, 30e6, 30e6]) == 80_000)
    #expect(next(after: [1e9, 1e9]) == 10_000)
    #expect(next(after: [1e9, 1e9], least: 50_000) == 50_000)
  }

  @Test("what was made shorter is as long again when rounds are short, and never longer")
  func quickRounds() {
    #expect(next(after: [1e9, 1e9, 2e6]) == 80_000)
    #expect(next(after: [1e9, 1e9, 1e9, 1e9, 1e6, 1e6, 1e6]) == 80_000)
    #expect(next(after: [1e6, 1e6]) == 80_000)
  }
}
