/// What changed between two reports beyond noise.
///
/// There are two kinds of noise. Within a run the rounds differ: a bootstrap interval says by how much. Between two
/// runs the machine differs:
/// what is not ours, the limits and the peers, shows by how much, because its code is the same: a machine that is a
/// tenth slower makes all of them slower, by more than their own rounds explain. So something has changed when its
/// whole interval lies outside of that.
public struct Comparison {
  package struct Line {
    package let id, work, name, unit: String
    let isMost: Bool
    let role: Contender.Role
    let change: Change
  }

  private(set) var lines: [Line] = []
  /// Figures that were or are 0, of which a factor says nothing: no round of the one run is within those of the other.
  package private(set) var steps: [String] = []
  private(set) var unjudged: [String] = []
  private(set) var onlyOld: [String] = []
  private(set) var onlyNew: [String] = []
  let machines: (old: Machine, new: Machine)

  public init(from old: Report, to new: Report) {
    machines = (old.machine, new.machine)
    let was = Comparison.byName(old), now = Comparison.byName(new)
    for (key, (row, contender)) in now {
      guard let before = was.first(where: { $0.key == key })?.value else {
        onlyNew.append(key)
        continue
      }
      if let change = Change(from: before.contender.medians, to: contender.medians) {
        lines.append(
          Line(
            id: row.id, work: row.work, name: contender.name, unit: row.unit, isMost: row.isMost,
            role: contender.role, change: change))
      } else if before.contender.median != contender.median {
        let text = "\(key): \(before.contender.median.short) → \(contender.median.short) \(row.unit)"
        if Comparison.areApart(before.contender, contender) {
          let isBetter = (contender.median < before.contender.median) != row.isMost
          steps.append("\(isBetter ? "better" : "WORSE ")  \(text): \(row.work)")
        } else {
          unjudged.append(text)
        }
      }
    }
    onlyOld = was.map(\.key).filter { key in !now.contains { $0.key == key } }
  }

  private static func areApart(_ old: Report.Contender, _ new: Report.Contender) -> Bool {
    min(old.medians.joined().count, new.medians.joined().count) >= Change.fewestJudged
      && (old.max < new.min || new.max < old.min)
  }

  private static func byName(_ report: Report) -> [(key: String, value: (row: Report.Row, contender: Report.Contender))]
  {
    report.rows.flatMap { row in row.contenders.map { ("\(row.id) \($0.name)", (row, $0)) } }
  }

  /// By how much the machine itself moved, as far as one may judge `line` by it: nine tenths of what is not ours moved
  /// less, not counting what their own intervals explain.
  func drift(for line: Line) -> Double {
    let moved = lines.filter { $0.role != .ours && !($0.id == line.id && $0.name == line.name) }
    let parts = moved.map(\.change.leastPart)
    return parts.isEmpty ? 0 : percentile(parts, 0.9)
  }

  package var changed: [Line] { lines.filter { $0.change.isBeyond(drift: drift(for: $0)) } }

  public var text: String {
    let changed = self.changed
    let ours = changed.filter { $0.role == .ours }, others = changed.filter { $0.role != .ours }
    var parts = ["\(machines.old.date) → \(machines.new.date)"]
    if machines.old.processor != machines.new.processor || machines.old.kernel != machines.new.kernel {
      parts.append("These are two machines or kernels: a change may be theirs.")
    }
    parts.append(
      section(
        "Ours, changed beyond noise", ours, none: steps.isEmpty ? "Nothing of ours changed beyond noise." : ""))
    if !steps.isEmpty {
      parts.append("From or to 0, and no round in common:\n" + steps.map { "  " + $0 }.joined(separator: "\n"))
    }
    if !others.isEmpty {
      parts.append(section("Not ours, and yet changed: look for the reason in the machine", others, none: ""))
    }
    for (title, names) in [
      ("Only in the first", onlyOld), ("Only in the second", onlyNew),
      ("Not judged: too few rounds, or a figure of 0", unjudged),
    ]
    where !names.isEmpty { parts.append(title + ":\n" + names.map { "  " + $0 }.joined(separator: "\n")) }
    let drift = lines.filter { $0.role == .ours }.map { self.drift(for: $0) }.max() ?? 0
    parts.append(
      """
      \(lines.count) figures compared, \(changed.count + steps.count) changed. Intervals: 99 % of \(Change.resamples) resamples of processes and rounds \
      (percentile bootstrap of the ratio of medians; where there are fewer than \(Change.fewestRounds) rounds, as wide as these). The machine \
      itself: nine tenths of what is not ours moved by less than \((drift * 100).short) % beyond their intervals. Changed: the whole interval is \
      outside of that.
      """)
    return parts.filter { !$0.isEmpty }.joined(separator: "\n\n")
  }

  private func section(_ title: String, _ lines: [Line], none: String) -> String {
    if lines.isEmpty { return none }
    let sorted = lines.sorted { abs($0.change.ratio - 1) > abs($1.change.ratio - 1) }
    return title + ":\n" + sorted.map(describe).joined(separator: "\n")
  }

  private func describe(_ line: Line) -> String {
    let change = line.change, isBetter = (change.ratio < 1) != line.isMost
    func percent(_ ratio: Double) -> String { (ratio >= 1 ? "+" : "−") + (abs(ratio - 1) * 100).short }
    return
      "  \(isBetter ? "better" : "WORSE ")  \(line.id) \(line.name): \(change.old.short) → \(change.new.short) \(line.unit), "
      + "\(percent(change.ratio)) % (\(percent(change.low)) to \(percent(change.high))): \(line.work)"
  }
}
