import TextTable

/// The table for a person to read.
struct TableReport {
  let rows: [RowResult]

  var limits: [String: Double] {
    Dictionary(uniqueKeysWithValues: rows.compactMap { row in row.ours.map { (row.row.id, $0.median) } })
  }

  struct Line {
    let id, work, ours, dispatch, peers, perDispatch, perLimit, targets, spread: String
  }

  var lines: [Line] {
    rows.map { row in
      let ours = row.ours?.median ?? .nan
      let peers = row.peers.map { "\($0.contender.name) \($0.median.short)" }.joined(separator: " · ")
      let limit = row.row.targets.lazy.compactMap { target -> Double? in
        if case .limit(let id) = target.base { return limits[id] }
        return nil
      }.first
      let targets = row.row.targets.map { target in
        "\(target.text) \(target.verdict(row, limits: limits)?.rawValue ?? "?")"
      }
      let high = row.ours?.percentile99.map { " p99 \($0.short)" } ?? ""
      return Line(
        id: row.row.id, work: row.row.work, ours: "\(ours.short) \(row.row.unit)",
        dispatch: row.dispatch?.median.short ?? "–",
        peers: peers.isEmpty ? "–" : peers,
        perDispatch: row.dispatch.map { $0.median > 0 ? (ours / $0.median).short + "×" : "–" } ?? "–",
        perLimit: limit.map { (ours / $0).short + "×" } ?? "–",
        targets: targets.isEmpty ? "–" : targets.joined(separator: "; "),
        spread: row.ours.map { "\($0.least.short)–\($0.most.short)" + high } ?? "–")
    }
  }

  var text: String {
    let table = TextTable<Line> { line in
      [
        Column(title: "id", value: line.id), Column(title: "work", value: line.work),
        Column(title: "ours", value: line.ours, align: .right),
        Column(title: "Dispatch", value: line.dispatch, align: .right),
        Column(title: "other peers", value: line.peers),
        Column(title: "of Dispatch", value: line.perDispatch, align: .right),
        Column(title: "of the limit", value: line.perLimit, align: .right),
        Column(title: "targets (✓ met, ≈ within 15 %, ✗ missed)", value: line.targets),
        Column(title: "min–max", value: line.spread),
      ]
    }
    return table.string(for: lines, style: Style.pipe) ?? ""
  }
}
