import TextTable

/// The table for a person to read.
public struct Table {
  let report: Report

  public init(_ report: Report) { self.report = report }

  private struct Line {
    let id, work, ours, dispatch, perDispatch, peers, targets: String
  }

  private var lines: [Line] {
    report.rows.map { row in
      let targets =
        row.targets.map { "\($0.text) \($0.verdict?.mark ?? "?")" } + row.references.map { "reference: \($0)" }
      return Line(
        id: row.id, work: "\(row.work), \(row.unit)", ours: row.ours.map(figures) ?? "–",
        dispatch: row.dispatch.map(figures) ?? "–", perDispatch: row.ratioToDispatch.map { $0.short + "×" } ?? "–",
        peers: row.others.map { "\($0.name) \(figures($0))" }.joined(separator: " · "),
        targets: targets.joined(separator: "; "))
    }
  }

  /// Median, least to most, 99th percentile; where there are several processes, from the least to the greatest of their medians; and the number
  /// of rounds where it is not that of the whole run.
  private func figures(_ contender: Report.Contender) -> String {
    var spread = "\(contender.min.short)–\(contender.max.short), p99 \(contender.percentile99.short)"
    if contender.processes.count > 1 {
      let between = contender.medians.map(median)
      spread += ", processes \((between.min() ?? .nan).short)–\((between.max() ?? .nan).short)"
    }
    let rounds = contender.processes.map(\.count).reduce(0, +)
    if rounds < report.rounds * report.runs { spread += ", \(rounds) rounds" }
    return "\(contender.median.short) (\(spread))"
  }

  public var text: String {
    let table = TextTable<Line> { line in
      [
        Column(title: "id", value: line.id), Column(title: "work, unit", value: line.work),
        Column(title: "ours", value: line.ours), Column(title: "Dispatch", value: line.dispatch),
        Column(title: "of Dispatch", value: line.perDispatch, align: .right),
        Column(title: "others", value: line.peers),
        Column(title: "targets (✓ met, ≈ within 15 %, ✗ missed)", value: line.targets),
      ]
    }
    return table.string(for: lines, style: Style.pipe) ?? ""
  }
}
