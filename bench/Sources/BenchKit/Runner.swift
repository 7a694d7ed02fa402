/// Takes the samples: in each round every contender of every row has its turn, so that a machine whose speed drifts is
/// the same for all. Who begins in a row changes from round to round, so that nobody always comes after the same one.
public struct Runner {
  let rounds: Int
  let calibration: Calibration
  let now: () -> Double
  let progress: (Progress) -> Void

  /// How far a run is.
  public struct Progress {
    /// 0 while the rows are calibrated.
    public let round: Int
    public let rounds: Int
    /// The row's number, from 1 on.
    public let row: Int
    public let rows: Int
    public let id: String
    /// As far as the rounds so far tell; `nil` before the end of the first.
    public let secondsLeft: Double?

    public var text: String {
      let place = round == 0 ? "calibrating" : "round \(round) of \(rounds)"
      let left = secondsLeft.map { ", \(Int(($0 / 60).rounded(.up))) min left" } ?? ""
      return "\(place), row \(row) of \(rows)\(left): \(id)"
    }
  }

  /// `now`: seconds on any clock.
  public init(
    rounds: Int, sampleLength: Double, now: @escaping () -> Double, progress: @escaping (Progress) -> Void
  ) {
    self.rounds = rounds
    self.calibration = Calibration(length: sampleLength)
    self.now = now
    self.progress = progress
  }

  /// What each contender of each row has given, round by round.
  public func run(_ rows: [Row]) -> [[[[Double]]]] {
    var samples = rows.map { row in row.contenders.map { _ in [[Double]]() } }
    var paces: [[Pace]] = []
    for (r, row) in rows.enumerated() {
      note(0, r, rows, nil)
      paces.append(row.contenders.map { calibrate($0.measure) })
    }
    // The seconds that each row took last: some take part in the first rounds only.
    var took = rows.map { _ in 0.0 }
    for round in 0..<rounds {
      for (r, row) in rows.enumerated() {
        note(round + 1, r, rows, round == 0 ? nil : secondsLeft(round, r, rows, took))
        let start = now()
        defer { took[r] = now() - start }
        for turn in row.contenders.indices {
          let c = (turn + round) % row.contenders.count
          let values = take(row, row.contenders[c], round: round, &paces[r][c])
          if !values.isEmpty, values.allSatisfy(\.isFinite) { samples[r][c].append(values) }
        }
      }
    }
    return samples
  }

  private func note(_ round: Int, _ r: Int, _ rows: [Row], _ secondsLeft: Double?) {
    progress(
      Progress(
        round: round, rounds: rounds, row: r + 1, rows: rows.count, id: rows[r].id, secondsLeft: secondsLeft))
  }

  private func secondsLeft(_ round: Int, _ r: Int, _ rows: [Row], _ took: [Double]) -> Double {
    rows.indices.map { index in
      let todo = min(rounds, rows[index].mostRounds ?? rounds) - round - (index < r ? 1 : 0)
      return Double(max(0, todo)) * took[index]
    }.reduce(0, +)
  }

  private func take(_ row: Row, _ contender: Contender, round: Int, _ pace: inout Pace) -> [Double] {
    switch contender.measure {
    case .operations(let slices, _, let body):
      let each = max(1, pace.count / slices)
      var all = 0.0
      let values = (0..<slices).map { _ in
        let took = body(each)
        all += took
        return took / Double(each)
      }
      pace.note(took: all, length: calibration.length)
      return values
    case .latencies(let count, let body): return body(count).map { Double($0) }
    case .figures(let rounds, let body): return round < rounds ? body() : []
    case .aside(let rounds, let counted, _):
      return round < rounds ? Aside(row, contender).run(counted: counted) : []
    case .asked(let rounds, let helper, let request, let operations):
      return round < rounds ? helper.answer(request).map { $0 / operations } : []
    }
  }

  private func calibrate(_ measure: Measure) -> Pace {
    guard case .operations(_, let least, let body) = measure else { return Pace(count: 1, least: 1) }
    return Pace(count: calibration.count(least: least, body), least: least)
  }
}
