import TestSupport
import Testing

/// Runs `body` with one seed after the other, `cases` of them (times `SCHEDULER_TEST_SCALE`), until it finds something
/// wrong; then says what, and with which seed that comes again. `SCHEDULER_TEST_SEED` is the first one's.
func forAnySeed(
  _ name: String, cases: Int, sourceLocation: SourceLocation = #_sourceLocation,
  _ body: (inout SeededGenerator) -> String?
) {
  let first = SeededGenerator.freshSeed(for: name)
  for index in 0..<Scale.count(cases) {
    let seed = first &+ UInt64(index)
    var random = SeededGenerator(seed: seed)
    guard let finding = body(&random) else { continue }
    Issue.record(
      "\(finding)\nThe same again: SCHEDULER_TEST_SEED=\(seed) swift test --filter \(name)",
      sourceLocation: sourceLocation)
    return
  }
}

extension SeededGenerator {
  mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }
  mutating func chance(_ numerator: Int, in denominator: Int) -> Bool { below(denominator) < numerator }
  mutating func pick<Element>(_ elements: [Element]) -> Element? { elements.randomElement(using: &self) }
}
