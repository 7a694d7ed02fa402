/// How a contender is measured. What is measured gives the values of one round.
public enum Measure: Sendable {
  /// The nanoseconds that so many operations took; their number is calibrated to a sample's length, and is at least
  /// `least`. A round is cut into `slices` samples.
  case operations(slices: Int, least: Int, @Sendable (Int) -> Double)
  /// The nanoseconds of each of so many operations.
  case latencies(count: Int, @Sendable (Int) -> [UInt64])
  /// Figures that are no times for an operation, or that take their own time; taken in the first rounds only.
  case figures(rounds: Int, @Sendable () -> [Double])
  /// The same, in a process of its own: for what a process's other threads, or a heap that it filled, would change.
  /// `counted`: with the counters of calls preloaded, so nothing there may be a time.
  case aside(rounds: Int, counted: Bool, @Sendable () -> [Double])
  /// What a program in another language answers, in nanoseconds; divided by `operations`.
  case asked(rounds: Int, Helper, request: String, operations: Double)
}

/// One way to do a row's work.
public struct Contender: Sendable {
  public enum Role: String, Sendable, Codable {
    case ours, dispatch, peer
    /// What no library can go below, or would not be used: shown, and never the best peer.
    case limit
  }

  public let name: String
  public let role: Role
  public let measure: Measure

  public init(_ name: String, _ role: Role, _ measure: Measure) {
    self.name = name
    self.role = role
    self.measure = measure
  }

  /// Short samples on one thread.
  public static func ours(_ name: String, _ body: @escaping @Sendable (Int) -> Double) -> Contender {
    Contender(name, .ours, .operations(slices: 10, least: 1, body))
  }
  public static func dispatch(_ name: String, _ body: @escaping @Sendable (Int) -> Double) -> Contender {
    Contender(name, .dispatch, .operations(slices: 10, least: 1, body))
  }
  public static func peer(_ name: String, _ body: @escaping @Sendable (Int) -> Double) -> Contender {
    Contender(name, .peer, .operations(slices: 10, least: 1, body))
  }
}

/// A line of the table: one piece of work, done in several ways.
public struct Row: Sendable {
  public let id: String
  public let work: String
  public var unit = "ns"
  /// The heading under which results show it.
  public var section = ""
  /// Whether more is better.
  public var isMost = false
  public let contenders: [Contender]
  public var targets: [Target] = []
  /// Figures from elsewhere: for context, never judged.
  public var references: [String] = []

  /// In how many rounds it has a turn at most, where there is a bound.
  var mostRounds: Int? {
    var most = 0
    for contender in contenders {
      switch contender.measure {
      case .operations, .latencies: return nil
      case .figures(let rounds, _), .aside(let rounds, _, _), .asked(let rounds, _, _, _): most = max(most, rounds)
      }
    }
    return most
  }

  public init(
    _ id: String, _ work: String, unit: String = "ns", isMost: Bool = false, _ contenders: [Contender],
    targets: [Target] = [], references: [String] = []
  ) {
    self.id = id
    self.work = work
    self.unit = unit
    self.isMost = isMost
    self.contenders = contenders
    self.targets = targets
    self.references = references
  }
}
