import Foundation

/// How a contender is measured.
enum Measure: Sendable {
  /// The nanoseconds that so many operations took; calibrated to a sample's length.
  case operations(@Sendable (Int) -> Double)
  /// The nanoseconds of each of so many operations; a sample is their median.
  case latencies(count: Int, @Sendable (Int) -> [UInt64])
  /// One figure, not a time for an operation; taken in the first rounds only.
  case figure(rounds: Int = 1, @Sendable () -> Double)
  /// The same, in a process of its own: for what a process's other threads, or a heap that it filled, would change.
  case aside(rounds: Int = 1, @Sendable () -> Double)
}

/// One way to do a row's work.
struct Contender: Sendable {
  enum Role: Sendable { case ours, dispatch, peer, limit }

  let name: String
  let role: Role
  let measure: Measure

  static func ours(_ name: String, _ body: @escaping @Sendable (Int) -> Double) -> Contender {
    Contender(name: name, role: .ours, measure: .operations(body))
  }
  static func dispatch(_ name: String, _ body: @escaping @Sendable (Int) -> Double) -> Contender {
    Contender(name: name, role: .dispatch, measure: .operations(body))
  }
  static func peer(_ name: String, _ body: @escaping @Sendable (Int) -> Double) -> Contender {
    Contender(name: name, role: .peer, measure: .operations(body))
  }
}

/// What ours is held against: met, if ours is not more than `factor` times the base plus `plus`; or not less, of what should be much.
struct Target: Sendable {
  enum Base: Sendable {
    case limit(String)
    case peer(String)
    case bestPeer
    case fixed
  }

  let text: String
  let base: Base
  var factor = 1.0
  var plus = 0.0
  var isLeast = false

  static func limit(_ id: String, _ factor: Double, plus: Double = 0) -> Target {
    let text = "≤\(factor.short) × \(id)" + (plus > 0 ? " + \(plus.short) ns" : "")
    return Target(text: text, base: .limit(id), factor: factor, plus: plus)
  }
  static func peer(_ name: String, _ factor: Double) -> Target {
    Target(text: "≤\(factor.short) × \(name)", base: .peer(name), factor: factor)
  }
  static func best(_ factor: Double) -> Target {
    Target(text: "≤\(factor.short) × the best peer", base: .bestPeer, factor: factor)
  }
  static func atLeast(_ factor: Double, of base: Base, _ name: String) -> Target {
    Target(text: "≥\(factor.short) × \(name)", base: base, factor: factor, isLeast: true)
  }
  static func fixed(_ value: Double, _ text: String) -> Target { Target(text: text, base: .fixed, plus: value) }
}

/// A line of the table: one piece of work, done in several ways.
struct Row: Sendable {
  let id: String
  let work: String
  var unit = "ns"
  let contenders: [Contender]
  var targets: [Target] = []
}

/// What a contender's samples say, in the row's unit.
struct Result: Sendable {
  let contender: Contender
  var samples: [Double] = []
  /// The 99th percentile of all latencies, where they were taken one by one.
  var percentile99: Double?

  var median: Double {
    let sorted = samples.sorted()
    guard !sorted.isEmpty else { return .nan }
    let middle = sorted.count / 2
    return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
  }
  var least: Double { samples.min() ?? .nan }
  var most: Double { samples.max() ?? .nan }
}

struct RowResult: Sendable {
  let row: Row
  var results: [Result]

  var isLimit: Bool { results.allSatisfy { $0.contender.role == .limit } }

  var ours: Result? { results.first { $0.contender.role == .ours } ?? results.first { $0.contender.role == .limit } }
  var dispatch: Result? { results.first { $0.contender.role == .dispatch } }
  var peers: [Result] {
    results.filter {
      $0.contender.role == .peer || ($0.contender.role == .ours && $0.contender.name != ours?.contender.name)
    }
  }
}

/// How a target was met. Within 15 % is no difference.
enum Verdict: String, Sendable { case met = "✓", near = "≈", missed = "✗" }

extension Target {
  /// Judges `row` by this target; `limits` are the medians by id. `nil` where the base was not measured.
  func verdict(_ row: RowResult, limits: [String: Double]) -> Verdict? {
    guard let ours = row.ours?.median else { return nil }
    let base: Double?
    switch self.base {
    case .limit(let id): base = limits[id]
    case .peer(let name): base = row.results.first { $0.contender.name == name }?.median
    case .bestPeer: base = row.results.filter { $0.contender.role != .ours }.map(\.median).min()
    case .fixed: base = 0
    }
    guard let base else { return nil }
    let bound = base * factor + plus
    if isLeast { return ours >= bound ? .met : ours * 1.15 >= bound ? .near : .missed }
    return ours <= bound ? .met : ours <= bound * 1.15 ? .near : .missed
  }
}

extension Double {
  /// Three figures, as a person would write them.
  var short: String {
    if isNaN { return "–" }
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
}
