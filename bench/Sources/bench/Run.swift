import ArgumentParser
import BenchKit
import CBench
import Foundation

struct Run: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Measures.")

  @Option(help: "Only the rows whose id or description matches this regular expression (limits come along as needed).")
  var filter: String?

  @Option(help: "How many times each contender has its turn, 1 to 1000. (default: 12; with --quick 3)")
  var rounds: Int?

  @Option(
    help: "How many processes take turns, 1 to 100: their rounds are merged, and the spread between them is shown.")
  var runs = 1

  @Flag(help: "Short samples and few rounds: for a look, not for a figure.")
  var quick = false

  @Option(help: "Where to write everything that was measured, as JSON.")
  var json = "bench/out/results.json"

  @Option(help: "An earlier run's file: says at the end what has changed since, beyond noise.")
  var compare: String?

  @Option(help: "Where to write the page with the charts; none for no page.")
  var html = "bench/out/report.html"

  @Flag(help: "List the rows, and measure nothing.")
  var list = false

  /// One contender by its name, in this process: see `Aside`.
  @Option(help: .hidden)
  var alone: String?

  func validate() throws {
    Scale.isQuick = quick
    if let rounds, !(1...1000).contains(rounds) {
      throw ValidationError("--rounds takes a number from 1 to 1000, not \(rounds).")
    }
    if !(1...100).contains(runs) { throw ValidationError("--runs takes a number from 1 to 100, not \(runs).") }
    if alone != nil { return }
    if let filter {
      guard let pattern = try? Regex(filter) else {
        throw ValidationError("--filter is not a regular expression: \(filter)")
      }
      guard allRows.contains(where: { matches($0, pattern) }) else {
        throw ValidationError(
          "--filter \(filter) matches no row. The rows are: \(allRows.map(\.id).joined(separator: ", ")).")
      }
    }
  }

  func run() throws {
    if let alone {
      guard let (text, counted) = Aside.here(alone, in: allRows) else { fail("there is no contender \(alone)", 64) }
      if !counted && cbench_is_interposed() { fail("a counter is preloaded where the time is taken", 70) }
      print(text)
      fflush(nil)
      _exit(0)  // what waits is not worth taking down
    }
    let rows = chosenRows()
    if list {
      for row in rows { print("\(row.id)  \(row.work): \(row.contenders.map(\.name).joined(separator: ", "))") }
      return
    }
    if cbench_is_interposed() {
      fail(
        "malloc, free or syscall are not the C library's here (LD_PRELOAD?): the figures would be those of what stands before them",
        70)
    }
    let earlier = try compare.map { try Report(contentsOf: $0) }
    Aside.arguments = quick ? ["--quick"] : []
    try prepare(json)
    if html != "none" { try prepare(html) }
    let report = try runs == 1 ? measure(rows) : measureInProcesses(rows)
    show(report)
    try write(report.data(), to: json)
    if html != "none" { try write(Data(Page(report).text.utf8), to: html) }
    if let earlier { print("\n\(Comparison(from: earlier, to: report).text)") }
    print("\nwritten: \(html == "none" ? "" : html + ", ")\(json)")
  }

  private func measure(_ rows: [Row]) -> Report {
    let rounds = self.rounds ?? (quick ? 3 : 12)
    let runner = Runner(rounds: rounds, sampleLength: quick ? 4e6 : 15e6, now: { Double(cbench_now()) / 1e9 }) { at in
      progress(at.text, isStep: at.row == 1)
    }
    var machine = Machine.current(arguments: Array(CommandLine.arguments.dropFirst()))
    let before = Machine.ticks()
    let samples = runner.run(rows)
    let after = Machine.ticks()
    progress("", isStep: false)
    if after.all > before.all { machine.stolen = (after.stolen - before.stolen) / (after.all - before.all) * 100 }
    return Report(machine: machine, rounds: rounds, notes: Peers.notes, rows, samples)
  }

  /// Starts this program so many times, one after the other.
  private func measureInProcesses(_ rows: [Row]) throws -> Report {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("bench-\(getpid())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    var reports: [Report] = []
    for number in 1...runs {
      progress("process \(number) of \(runs)", isStep: true)
      let path = folder.appendingPathComponent("\(number).json").path
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
      process.arguments = ["run", "--json", path, "--html", "none"] + (quick ? ["--quick"] : [])
      if let filter { process.arguments! += ["--filter", filter] }
      if let rounds { process.arguments! += ["--rounds", "\(rounds)"] }
      process.standardOutput = FileHandle.nullDevice
      try process.run()
      process.waitUntilExit()
      guard process.terminationStatus == 0 else { fail("process \(number) of \(runs) failed", 70) }
      reports.append(try Report(contentsOf: path))
    }
    progress("", isStep: false)
    guard var report = Report.merged(reports, by: rows) else { fail("nothing was measured", 70) }
    report.machine = Machine.current(arguments: Array(CommandLine.arguments.dropFirst()), like: report.machine)
    return report
  }

  private func show(_ report: Report) {
    let machine = report.machine
    print(Table(report).text)
    print(
      "\n\(machine.processor), \(machine.processors) processors; Linux \(machine.kernel); Swift \(machine.swift); \(machine.date)"
    )
    print(
      "Each figure: the median of \(report.rounds) rounds in turn"
        + (report.runs > 1 ? " in each of \(report.runs) processes" : "")
        + ", least to most of the rounds. Compare within a row: a difference under 15 % is none."
    )
    if let load = machine.load, load > 0.5 {
      print("The machine was not quiet: load \(load.short) before the first row.")
    }
    if let stolen = machine.stolen, stolen > 0.5 { print("The host took \(stolen.short) % of the time away.") }
    for note in report.notes { print("left out: \(note)") }
    let worst = report.rows.compactMap { row in row.ratioToBest.map { (row, $0) } }.sorted { $0.1 > $1.1 }.prefix(5)
    if worst.isEmpty { return }
    print("\nThe worst ratios, ours to the best of the others:")
    for (row, ratio) in worst { print("  \(ratio.short)×  \(row.id) \(row.work): \(row.best?.name ?? "")") }
  }

  /// One line that is written over, on a terminal; elsewhere a line for each step.
  private func progress(_ text: String, isStep: Bool) {
    let isTerminal = isatty(STDERR_FILENO) == 1
    if isTerminal || isStep {
      FileHandle.standardError.write(Data((isTerminal ? "\r\u{1B}[K\(text)" : "\(text)\n").utf8))
    }
  }

  // MARK: rows

  private func matches(_ row: Row, _ pattern: Regex<AnyRegexOutput>) -> Bool {
    row.id.contains(pattern) || row.work.contains(pattern)
  }

  private func chosenRows() -> [Row] {
    guard let filter, let pattern = try? Regex(filter) else { return allRows }
    let chosen = allRows.filter { matches($0, pattern) }
    let needed = Set(chosen.flatMap(\.targets).flatMap(\.ids))
    return allRows.filter { row in needed.contains(row.id) || chosen.contains { $0.id == row.id } }
  }

  // MARK: files

  /// Makes the folder and opens the file now, so that nobody waits for minutes to be told that it cannot be written.
  private func prepare(_ path: String) throws {
    let url = URL(fileURLWithPath: path)
    try? FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    guard let file = fopen(path, "a") else { throw cannotWrite(path) }
    fclose(file)
  }

  private func write(_ data: Data, to path: String) throws {
    do { try data.write(to: URL(fileURLWithPath: path)) } catch { throw cannotWrite(path) }
  }

  private func cannotWrite(_ path: String) -> ExitCode {
    let reason = String(cString: strerror(errno))
    FileHandle.standardError.write(
      Data("Error: cannot write \(path): \(reason). Choose another with --json or --html.\n".utf8))
    return ExitCode(73)
  }
}

/// The headings of the results, each with the beginnings of its rows' ids. The longest beginning decides.
private let sections: [(title: String, ids: [String])] = [
  ("Submit", ["S"]),
  ("Submit with a backlog of a million, or to a thread that is busy", ["M", "P1"]),
  ("Continue: trampoline and chains", ["T", "P3"]),
  ("Delay", ["R"]),
  ("Cancel and dispose", ["D", "N7"]),
  ("Lock", ["K", "V1", "V6", "V7", "V8", "P3c", "P3s"]),
  ("Wait and wake", ["V", "H", "B", "N6"]),
  ("Fan out", ["N", "P"]),
  ("Tasks", ["E", "Y"]),
  ("Start", ["U"]),
  ("Memory and idle threads", ["G", "H4"]),
  ("The limits of the machine", ["L", "CAS"]),
]

let allRows: [Row] = {
  Peers.load()
  let rows = [
    limitRows, steadyRows, lockRows, waitRows, waitingRows, togetherRows, trampolineRows, queueRows, hopRows, timerRows,
    punctualityRows, poolRows, forkRows, taskRows, asyncWaitRows, serialRows, disposableRows, blockingRows, memoryRows,
    idleRows,
    startRows,
  ].flatMap { $0 }
  let places = rows.map { row in
    sections.indices.flatMap { index in sections[index].ids.map { (index: index, id: $0) } }
      .filter { row.id.hasPrefix($0.id) }.max { $0.id.count < $1.id.count }!.index
  }
  return sections.indices.flatMap { index in
    zip(rows, places).filter { $0.1 == index }.map { row, _ in
      var row = row
      row.section = sections[index].title
      return row
    }
  }
}()
