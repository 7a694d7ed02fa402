import BenchKit
import Testing

@Suite struct ComparisonTests {
  /// Twelve rounds about `center`, a few percent apart.
  private func rounds(_ center: Double, seed: UInt64 = 1) -> [[Double]] {
    var generator = SeededGenerator(state: seed)
    return (0..<12).map { _ in [center * Double.random(in: 0.97...1.03, using: &generator)] }
  }

  private func names(_ comparison: Comparison) -> [String] { comparison.changed.map(\.name) }

  @Test("two runs of the same differ by noise only") func nothing() {
    let old = report(ours: rounds(10, seed: 1), peer: rounds(20, seed: 2))
    let new = report(ours: rounds(10, seed: 3), peer: rounds(20, seed: 4))
    #expect(names(Comparison(from: old, to: new)) == [])
    #expect(Comparison(from: old, to: new).text.contains("Nothing of ours changed beyond noise."))
  }

  @Test("a fifth more is found, and called worse") func worse() {
    let old = report(ours: rounds(10), peer: rounds(20)),
      new = report(ours: rounds(12, seed: 3), peer: rounds(20, seed: 4))
    let comparison = Comparison(from: old, to: new)
    #expect(names(comparison) == ["csched_lock"])
    #expect(comparison.text.contains("WORSE   K1 csched_lock"))
  }

  @Test("a fifth less is called better") func better() {
    let old = report(ours: rounds(12), peer: rounds(20)),
      new = report(ours: rounds(10, seed: 3), peer: rounds(20, seed: 4))
    #expect(Comparison(from: old, to: new).text.contains("better  K1 csched_lock"))
  }

  @Test("a machine that is slower as a whole has changed nothing of ours") func drift() {
    let old = report(ours: rounds(10), peer: rounds(20)),
      new = report(ours: rounds(12, seed: 3), peer: rounds(25, seed: 4))
    #expect(!names(Comparison(from: old, to: new)).contains("csched_lock"))
  }

  @Test("a peer that jumps between two speeds does not hide a change of ours") func bistable() {
    let jumps: [[Double]] = (0..<12).map { [$0 % 2 == 0 ? 10 : 30] },
      other: [[Double]] = (0..<12).map { [$0 % 3 == 0 ? 10 : 30] }
    let old = report(ours: rounds(10), peer: jumps), new = report(ours: rounds(12, seed: 3), peer: other)
    #expect(names(Comparison(from: old, to: new)) == ["csched_lock"])
  }

  @Test("rounds that differ as much among themselves say nothing") func wide() {
    let wide: [[Double]] = [[5], [20], [6], [19], [7], [18], [8], [17], [9], [16], [10], [15]]
    let old = report(ours: wide, peer: rounds(20)),
      new = report(ours: wide.map { [$0[0] * 1.2] }, peer: rounds(20, seed: 4))
    #expect(names(Comparison(from: old, to: new)) == [])
  }

  @Test("processes that differ widen the interval, though the rounds of each are close") func processes() throws {
    let close = [9.9, 10.0, 10.1, 10.0, 9.9, 10.1]
    let one = try #require(Change(from: [close], to: [close.map { $0 * 1.2 }]))
    let some = try #require(
      Change(
        from: [close, close.map { $0 * 1.5 }, close], to: [close.map { $0 * 1.2 }, close, close.map { $0 * 1.5 }]))
    #expect(one.isBeyond(drift: 0) && !some.isBeyond(drift: 0))
  }

  @Test("few rounds are as wide as they are; fewer than three are not judged") func few() throws {
    let change = try #require(Change(from: [[10, 11, 12]], to: [[11, 12, 13]]))
    #expect(change.low == 11.0 / 12 && change.high == 1.3)
    #expect(Change(from: [[1, 1]], to: [[2, 2]]) == nil)
    let comparison = Comparison(from: report(ours: [[1]], peer: [[1]]), to: report(ours: [[2]], peer: [[1]]))
    #expect(comparison.text.contains("Not judged: too few rounds, or a figure of 0:\n  K1 csched_lock: 1 → 2 ns"))
  }

  @Test("what was 0 and is not has changed, unless rounds of both are alike; a factor would say nothing") func zero() {
    let none = report(ours: [[0], [0], [0]], peer: rounds(20)), some = report(ours: [[5], [4], [6]], peer: rounds(20))
    let comparison = Comparison(from: none, to: some)
    #expect(comparison.steps == ["WORSE   K1 csched_lock: 0 → 5 ns: a lock"])
    #expect(!comparison.text.contains("Nothing of ours"))
    #expect(Comparison(from: some, to: none).steps == ["better  K1 csched_lock: 5 → 0 ns: a lock"])
    let mixed = Comparison(from: none, to: report(ours: [[0], [4], [6]], peer: rounds(20)))
    #expect(mixed.steps == [] && mixed.text.contains("Not judged"))
    #expect(Comparison(from: none, to: none).steps == [])
  }

  @Test("a comparison says the same each time") func repeats() {
    let old = report(ours: rounds(10), peer: rounds(20)),
      new = report(ours: rounds(12, seed: 3), peer: rounds(20, seed: 4))
    #expect(Comparison(from: old, to: new).text == Comparison(from: old, to: new).text)
  }

  @Test("what only one run has is said") func missing() {
    let old = report(ours: rounds(10), peer: rounds(20)), new = report(ours: rounds(10), peer: [])
    #expect(Comparison(from: old, to: new).text.contains("Only in the first:\n  K1 pthread"))
  }
}
