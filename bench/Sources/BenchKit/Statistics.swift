import Foundation

/// The median; not a number when there are none.
public func median(_ values: [Double]) -> Double {
  let sorted = values.sorted(), middle = sorted.count / 2
  guard !sorted.isEmpty else { return .nan }
  return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/// The least of the values that at least `part` of all do not exceed.
public func percentile(_ values: [Double], _ part: Double) -> Double {
  let sorted = values.sorted()
  guard !sorted.isEmpty else { return .nan }
  return sorted[min(sorted.count - 1, max(0, Int((Double(sorted.count) * part).rounded(.up)) - 1))]
}

/// A small generator with a seed, so that a comparison says the same each time (SplitMix64).
package struct SeededGenerator: RandomNumberGenerator {
  var state: UInt64

  package init(state: UInt64) { self.state = state }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }
}

extension Double {
  /// Three figures, as a person would write them.
  public var short: String {
    if isNaN { return "–" }
    if isInfinite { return "∞" }
    if self == 0 { return "0" }
    let size = magnitude
    let digits = size >= 100 ? 0 : size >= 10 ? 1 : 2
    var text = String(format: "%.\(digits)f", self)
    if text.contains(".") {
      while text.hasSuffix("0") { text.removeLast() }
      if text.hasSuffix(".") { text.removeLast() }
    }
    return text
  }

  /// Six figures: what is written down.
  var rounded6: Double {
    guard isFinite, self != 0 else { return self }
    let scale = pow(10, 5 - magnitude.exponent10)
    return (self * scale).rounded() / scale
  }

  private var exponent10: Double { Foundation.log10(self).rounded(.down) }
}
