import BenchKit
import Foundation
import Testing

let machine = Machine.current(arguments: [])

/// A row of ours and a peer, with these values for each round.
func report(ours: [[Double]], peer: [[Double]], targets: [Target] = [], references: [String] = []) -> Report {
  let row = Row(
    "K1", "a lock", [Contender.ours("csched_lock") { _ in 0 }, .peer("pthread") { _ in 0 }], targets: targets,
    references: references)
  return Report(machine: machine, rounds: ours.count, notes: [], [row], [[ours, peer]])
}

@Suite struct ReportTests {
  @Test("median and spread are those of the rounds, p99 that of all samples") func figures() throws {
    let made = report(ours: [[1, 2, 9], [3, 4, 100], [5, 6, 7]], peer: [[1], [1], [1]])
    let ours = try #require(made.rows[0].ours)
    #expect(ours.median == 4 && ours.min == 2 && ours.max == 6 && ours.percentile99 == 100)
  }

  @Test("a median is within its spread also where all are alike to the sixth figure", arguments: [1.00001, 1.00002])
  func rounding(_ least: Double) throws {
    let made = report(ours: [[least, least + 0.00001]], peer: [[1]])
    let ours = try #require(made.rows[0].ours)
    #expect(ours.min <= ours.median && ours.median <= ours.max)
  }

  @Test("targets are met, nearly met or missed; a reference is neither") func judged() {
    let made = report(
      ours: [[10], [10], [10]], peer: [[9], [9], [9]],
      targets: [.peer("pthread", 2), .best(1), .peer("pthread", 0.5), .limit("absent", 1), .promise(10, "≤10")],
      references: ["another machine 3 ns"])
    #expect(made.rows[0].targets.map(\.verdict) == [.met, .near, .missed, nil, .met])
    #expect(made.rows[0].references == ["another machine 3 ns"])
    #expect(Table(made).text.contains("reference: another machine 3 ns") && !Table(made).text.contains("3 ns ✓"))
  }

  @Test("a limit inside of a row is not the best peer") func bestPeer() {
    let row = Row(
      "K3", "contention",
      [
        .ours("ours") { _ in 0 }, .peer("pthread") { _ in 0 },
        Contender("spin lock", .limit, .figures(rounds: 1) { [] }),
      ],
      targets: [.best(1)])
    let made = Report(machine: machine, rounds: 1, notes: [], [row], [[[[8]], [[9]], [[1]]]])
    #expect(made.rows[0].targets[0].verdict == .met)
  }

  @Test("who gave no figure is left out, with a note") func leftOut() {
    let made = report(ours: [[1]], peer: [])
    #expect(made.rows[0].contenders.map(\.name) == ["csched_lock"])
    #expect(made.notes == ["K1: pthread gave no figure"])
  }

  @Test("processes are merged: all rounds count, and each process keeps its own") func merged() throws {
    let first = report(ours: [[1], [2]], peer: [[5]]), second = report(ours: [[3], [9]], peer: [[6]])
    let both = try #require(Report.merged([first, second], by: []))
    let ours = try #require(both.rows[0].ours)
    #expect(both.runs == 2 && ours.processes.count == 2 && ours.median == 2.5 && ours.max == 9)
    #expect(Table(both).text.contains("processes 1.5–6"))
  }

  @Test("a row or contender that one process lacks has the values of the others") func mergedUnlike() throws {
    var without = report(ours: [[1]], peer: [[5]])
    without.rows = []
    let all = [without, report(ours: [[2]], peer: []), report(ours: [[4]], peer: [[7]])]
    let both = try #require(Report.merged(all, by: []))
    #expect(both.rows.map(\.id) == ["K1"] && both.rows[0].contenders.map(\.median) == [3, 7])
  }

  @Test("what is written is read again, and what the first version wrote too") func files() throws {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("report-\(getpid()).json").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    try report(ours: [[1, 2], [3, 4]], peer: [[5]]).data().write(to: URL(fileURLWithPath: path))
    #expect(try Report(contentsOf: path).rows[0].ours?.processes == [[[1, 2], [3, 4]]])
    try Data(
      """
      {"schema": 1, "rounds": 2, "machine": {"processor": "p", "processors": 2, "kernel": "k", "system": "s", "swift": "6.3",
       "date": "2026-11-21", "command": "bench"}, "rows": [{"id": "K1", "work": "w", "unit": "ns", "targets": [],
       "contenders": [{"name": "csched_lock", "role": "ours", "median": 6, "min": 5, "max": 7, "samples": [5, 7]}]}]}
      """.utf8
    ).write(to: URL(fileURLWithPath: path))
    #expect(try Report(contentsOf: path).rows[0].ours?.medians == [[5, 7]])
  }

  @Test("the table has ours with its spread and the best other; the page has the 99th percentile of each") func shown()
  {
    let shown = report(ours: [[1, 2, 9]], peer: [[5, 6, 7]])
    let table = Table(shown).text, page = Page(shown).text
    #expect(table.contains("| 2 (2–2) ") && table.contains(" 6 pthread "))
    #expect(page.contains("2 ns, p99 9") && page.contains("6 ns, p99 7"))
  }
}
