import Foundation

/// Everything that was measured, for a program to read.
struct JSONReport: Encodable {
  struct Entry: Encodable {
    struct Measured: Encodable {
      let name: String
      let role: String
      let median, min, max: Double
      let percentile99: Double?
      let samples: [Double]
    }
    struct Judged: Encodable {
      let text: String
      let verdict: String?
    }
    let id, work, unit: String
    let contenders: [Measured]
    let ratioToDispatch: Double?
    let targets: [Judged]
  }

  let schema = 1
  let machine: Machine
  let rounds: Int
  let rows: [Entry]

  init(machine: Machine, rounds: Int, rows: [RowResult]) {
    let limits = TableReport(rows: rows).limits
    self.machine = machine
    self.rounds = rounds
    self.rows = rows.map { row in
      Entry(
        id: row.row.id, work: row.row.work, unit: row.row.unit,
        contenders: row.results.map {
          Entry.Measured(
            name: $0.contender.name, role: "\($0.contender.role)", median: $0.median, min: $0.least, max: $0.most,
            percentile99: $0.percentile99, samples: $0.samples)
        },
        ratioToDispatch: row.dispatch.flatMap { dispatch in
          dispatch.median > 0 ? row.ours.map { $0.median / dispatch.median } : nil
        },
        targets: row.row.targets.map {
          Entry.Judged(text: $0.text, verdict: $0.verdict(row, limits: limits).map { "\($0)" })
        })
    }
  }

  func data() throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    return try encoder.encode(self)
  }
}
