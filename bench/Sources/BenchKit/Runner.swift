/// Takes the samples: in each round every contender of every row has its turn, so that a machine whose speed drifts is the same for all. Who begins
/// in a row changes from round to round, so that nobody always comes after the same one.
public struct Runner {
  let rounds: Int
  let calibration: Calibration
  let progress: (String) -> Void

  public init(rounds: Int, sampleLength: Double, progress: @escaping (String) -> Void) {
    self.rounds = rounds
    self.calibration = Calibration(length: sampleLength)
    self.progress = progress
  }

  /// What each contender of each row has given, round by round.
  public func run(_ rows: [Row]) -> [[[[Double]]]] {
    var samples = rows.map { row in row.contenders.map { _ in [[Double]]() } }
    var paces: [[Pace]] = []
    for row in rows {
      progress("calibrating \(row.id)")
      paces.append(row.contenders.map { calibrate($0.measure) })
    }
    for round in 0..<rounds {
      for (r, row) in rows.enumerated() {
        progress("round \(round + 1) of \(rounds): \(row.id)")
        for turn in row.contenders.indices {
          let c = (turn + round) % row.contenders.count
          let values = take(row, row.contenders[c], round: round, &paces[r][c])
          if !values.isEmpty, values.allSatisfy(\.isFinite) { samples[r][c].append(values) }
        }
      }
    }
    return samples
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
