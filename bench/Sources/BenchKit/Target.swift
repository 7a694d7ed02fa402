/// What ours is held against: met, if it is not more than a bound that was measured in the same run.
public struct Target: Sendable {
  /// A sum of medians, each times a factor; `nil` where one of them was not measured.
  enum Bound: Sendable {
    case rows([(factor: Double, id: String)], plus: Double)
    case peer(String, Double)
    case bestPeer(Double)
    case promise(Double)
    /// What one thread took, divided by a part of the speed-up of raw threads.
    case speedUp(Double, alone: String, limit: String)
  }

  public let text: String
  let bound: Bound

  /// At most `factor` times the row `id`.
  public static func limit(_ id: String, _ factor: Double, plus: Double = 0) -> Target {
    let text = "≤\(factor.short) × \(id)" + (plus > 0 ? " + \(plus.short) ns" : "")
    return Target(text: text, bound: .rows([(factor, id)], plus: plus))
  }
  /// At most a sum of rows.
  public static func sum(_ parts: [(factor: Double, id: String)], plus: Double) -> Target {
    let text = parts.map { $0.factor == 1 ? $0.id : "\($0.factor.short) × \($0.id)" }.joined(separator: " + ")
    return Target(text: "≤\(text) + \(plus.short) ns", bound: .rows(parts, plus: plus))
  }
  /// At most so many nanoseconds on a machine where malloc and free (L7) take 7.2; in proportion on this one.
  public static func scaled(_ nanoseconds: Double) -> Target {
    let factor = nanoseconds / 7.2
    return Target(text: "≤\(factor.short) × L7", bound: .rows([(factor, "L7")], plus: 0))
  }
  public static func peer(_ name: String, _ factor: Double) -> Target {
    Target(text: "≤\(factor == 1 ? "" : "\(factor.short) × ")\(name)", bound: .peer(name, factor))
  }
  public static func best(_ factor: Double) -> Target {
    Target(text: "≤\(factor == 1 ? "" : "\(factor.short) × ")the best peer", bound: .bestPeer(factor))
  }
  /// A bound of our own that holds on any machine: memory that is flat, no wakes.
  public static func promise(_ most: Double, _ text: String) -> Target { Target(text: text, bound: .promise(most)) }
  public static func speedUp(_ part: Double, alone: String, limit: String) -> Target {
    Target(text: "speed-up ≥\(part.short) × \(limit)", bound: .speedUp(part, alone: alone, limit: limit))
  }

  /// The rows that it needs.
  public var ids: [String] {
    switch bound {
    case .rows(let parts, _): parts.map(\.id)
    case .speedUp(_, _, let limit): [limit]
    default: []
    }
  }

  /// The bound for `row`; `medians` are ours or the limit's, by row.
  func value(_ row: Report.Row, medians: [String: Double]) -> Double? {
    switch bound {
    case .rows(let parts, let plus):
      var sum = plus
      for part in parts {
        guard let median = medians[part.id] else { return nil }
        sum += part.factor * median
      }
      return sum
    case .peer(let name, let factor): return row.contenders.first { $0.name == name }.map { $0.median * factor }
    case .bestPeer(let factor):
      return row.contenders.filter { $0.role == .dispatch || $0.role == .peer }.map(\.median).min().map { $0 * factor }
    case .promise(let most): return most
    case .speedUp(let part, let alone, let limit):
      guard let one = row.contenders.first(where: { $0.name == alone }), let most = medians[limit] else { return nil }
      return one.median / (part * most)
    }
  }

  /// `nil` where the bound was not measured.
  func verdict(_ row: Report.Row, medians: [String: Double]) -> Verdict? {
    guard let ours = row.ours?.median, let bound = value(row, medians: medians) else { return nil }
    return ours <= bound ? .met : ours <= bound * 1.15 ? .near : .missed
  }
}

/// How a target was met. Within 15 % is no difference.
public enum Verdict: String, Sendable, Codable {
  case met, near, missed

  var mark: String {
    switch self {
    case .met: "✓"
    case .near: "≈"
    case .missed: "✗"
    }
  }
}
