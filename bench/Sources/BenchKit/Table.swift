import TextTable

/// The table for a terminal: of the others only Dispatch and the best. The whole of it is in the files.
public struct Table {
  let report: Report

  public init(_ report: Report) { self.report = report }

  private struct Line {
    let id, work, ours, dispatch, other, ratio, targets: String
  }

  private var lines: [Line] {
    report.rows.map { row in
      let targets =
        row.targets.map { "\($0.text) \($0.verdict?.mark ?? "?")" } + row.references.map { "reference: \($0)" }
      let other = row.bestPeer.map { "\($0.median.short) \($0.name)" }
      return Line(
        id: row.id, work: "\(row.work), \(row.unit)", ours: row.ours.map(figures) ?? "–",
        dispatch: row.dispatch?.median.short ?? "–", other: other ?? "–",
        ratio: row.ratioToBest.map { $0.short + "×" } ?? "–", targets: targets.joined(separator: "; "))
    }
  }

  /// Median and least to most; where there are several processes, from the least to the greatest of their medians; and
  /// the number of rounds where it is not that of the whole run.
  private func figures(_ contender: Report.Contender) -> String {
    var spread = "\(contender.min.short)–\(contender.max.short)"
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
        Column(title: "ours", value: line.ours), Column(title: "Dispatch", value: line.dispatch, align: .right),
        Column(title: "best other", value: line.other), Column(title: "ours ÷ best", value: line.ratio, align: .right),
        Column(title: "goals (✓ met, ≈ within 15 %, ✗ missed)", value: line.targets),
      ]
    }
    return table.string(for: lines, style: Style.pipe) ?? ""
  }
}
