import Foundation

/// Everything that was measured: what is written as JSON, shown, merged and compared.
public struct Report: Codable, Sendable {
  public struct Contender: Codable, Sendable {
    public let name: String
    public let role: BenchKit.Contender.Role
    /// The median of the rounds' medians; the least and the greatest of these; the 99th percentile of all values.
    public let median, min, max, percentile99: Double
    /// The values: of each process, of each of its rounds.
    public let processes: [[[Double]]]

    /// The rounds' medians, process by process.
    public var medians: [[Double]] { processes.map { $0.map(BenchKit.median) } }

    public init(_ name: String, _ role: BenchKit.Contender.Role, processes: [[[Double]]]) {
      self.name = name
      self.role = role
      self.processes = processes.map { $0.map { $0.map(\.rounded6) } }
      let rounds = self.processes.flatMap { $0.map(BenchKit.median) }
      median = BenchKit.median(rounds).rounded6
      min = (rounds.min() ?? .nan).rounded6
      max = (rounds.max() ?? .nan).rounded6
      percentile99 = percentile(self.processes.flatMap { $0.flatMap { $0 } }, 0.99)
    }
  }

  public struct Judged: Codable, Sendable {
    public let text: String
    public let verdict: Verdict?
  }

  public struct Row: Codable, Sendable {
    public let id, work, unit: String
    public let isMost: Bool
    public let contenders: [Contender]
    public let references: [String]
    public var section: String?
    public var targets: [Judged] = []
    public var ratioToDispatch: Double?

    public var isLimit: Bool { contenders.allSatisfy { $0.role == .limit } }
    public var ours: Contender? { contenders.first { $0.role == .ours } ?? contenders.first { $0.role == .limit } }
    public var dispatch: Contender? { contenders.first { $0.role == .dispatch } }
    /// The fastest of Dispatch and the peers.
    public var best: Contender? { best(of: [.dispatch, .peer]) }
    public var bestPeer: Contender? { best(of: [.peer]) }

    private func best(of roles: [BenchKit.Contender.Role]) -> Contender? {
      let others = contenders.filter { roles.contains($0.role) }
      return isMost ? others.max { $0.median < $1.median } : others.min { $0.median < $1.median }
    }

    /// Ours divided by the best of the others: above 1, ours is behind. `nil` where there is nothing to divide by.
    public var ratioToBest: Double? {
      guard let ours = contenders.first(where: { $0.role == .ours })?.median, let best = best?.median else {
        return nil
      }
      let (above, below) = isMost ? (best, ours) : (ours, best)
      return below > 0 ? above / below : nil
    }
  }

  public static let currentSchema = 2

  public let schema: Int
  public var machine: Machine
  public let rounds: Int
  /// How many processes took turns.
  public let runs: Int
  /// What was left out, and why.
  public var notes: [String]
  public var rows: [Row]

  /// One process's report.
  public init(machine: Machine, rounds: Int, notes: [String], _ rows: [BenchKit.Row], _ samples: [[[[Double]]]]) {
    var notes = notes
    let measured = zip(rows, samples).compactMap { row, samples -> Row? in
      let contenders = zip(row.contenders, samples).compactMap { contender, rounds -> Contender? in
        if !rounds.isEmpty { return Contender(contender.name, contender.role, processes: [rounds]) }
        notes.append("\(row.id): \(contender.name) gave no figure")
        return nil
      }
      if contenders.isEmpty { return nil }
      return Row(
        id: row.id, work: row.work, unit: row.unit, isMost: row.isMost, contenders: contenders,
        references: row.references, section: row.section)
    }
    self.init(machine: machine, rounds: rounds, runs: 1, notes: notes, rows: measured)
    judge(by: rows)
  }

  private init(machine: Machine, rounds: Int, runs: Int, notes: [String], rows: [Row]) {
    schema = Report.currentSchema
    self.machine = machine
    self.rounds = rounds
    self.runs = runs
    self.notes = notes
    self.rows = rows
  }

  /// The reports of several processes as one. A row or contender that some lack has the values of the others.
  public static func merged(_ reports: [Report], by rows: [BenchKit.Row]) -> Report? {
    guard let first = reports.first else { return nil }
    var firsts: [Row] = []
    for row in reports.flatMap(\.rows) where !firsts.contains(where: { $0.id == row.id }) { firsts.append(row) }
    let merged = firsts.map { row -> Row in
      let alike = reports.compactMap { report in report.rows.first { $0.id == row.id } }
      var names: [String] = []
      for contender in alike.flatMap(\.contenders) where !names.contains(contender.name) {
        names.append(contender.name)
      }
      let contenders = names.compactMap { name -> Contender? in
        let parts = alike.compactMap { row in row.contenders.first { $0.name == name } }
        return parts.first.map { Contender(name, $0.role, processes: parts.flatMap(\.processes)) }
      }
      return Row(
        id: row.id, work: row.work, unit: row.unit, isMost: row.isMost, contenders: contenders,
        references: row.references, section: row.section)
    }
    var notes: [String] = []
    for note in reports.flatMap(\.notes) where !notes.contains(note) { notes.append(note) }
    var report = Report(
      machine: first.machine, rounds: first.rounds, runs: reports.map(\.runs).reduce(0, +), notes: notes, rows: merged)
    let stolen = reports.compactMap(\.machine.stolen)
    report.machine.stolen = stolen.isEmpty ? nil : stolen.reduce(0, +) / Double(stolen.count)
    report.judge(by: rows)
    return report
  }

  /// Medians of ours, or of the limit, by row: what targets name.
  var medians: [String: Double] {
    Dictionary(rows.compactMap { row in row.ours.map { (row.id, $0.median) } }) { first, _ in first }
  }

  private mutating func judge(by definitions: [BenchKit.Row]) {
    let medians = medians
    for index in rows.indices {
      let row = rows[index]
      let targets = definitions.first { $0.id == row.id }?.targets ?? []
      rows[index].targets = targets.map { Judged(text: $0.text, verdict: $0.verdict(row, medians: medians)) }
      if let ours = row.ours, let dispatch = row.dispatch, dispatch.median > 0 {
        rows[index].ratioToDispatch = (ours.median / dispatch.median).rounded6
      }
    }
  }

  // MARK: files

  public func data() throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    return try encoder.encode(self)
  }

  public init(contentsOf path: String) throws {
    let data = try Data(contentsOf: URL(fileURLWithPath: path)), decoder = JSONDecoder()
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    struct Head: Decodable { let schema: Int }
    switch try decoder.decode(Head.self, from: data).schema {
    case 1: self = try Report(decoder.decode(FirstReport.self, from: data))
    case Report.currentSchema: self = try decoder.decode(Report.self, from: data)
    case let other: throw Unreadable(text: "it was written by another version (schema \(other))")
    }
  }

  struct Unreadable: LocalizedError {
    let text: String
    var errorDescription: String? { text }
  }

  /// How results were written at first: one value for each round.
  private struct FirstReport: Decodable {
    struct Row: Decodable {
      struct Contender: Decodable { let name: String, role: BenchKit.Contender.Role, samples: [Double] }
      let id, work, unit: String
      let contenders: [Contender]
    }
    let machine: Machine
    let rounds: Int
    let rows: [Row]
  }

  private init(_ old: FirstReport) {
    let rows = old.rows.map { row in
      Row(
        id: row.id, work: row.work, unit: row.unit, isMost: row.unit == "×",
        contenders: row.contenders.map { Contender($0.name, $0.role, processes: [$0.samples.map { [$0] }]) },
        references: [])
    }
    self.init(machine: old.machine, rounds: old.rounds, runs: 1, notes: [], rows: rows)
  }
}
