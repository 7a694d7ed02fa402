import ArgumentParser
import Foundation

@main
struct Bench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bench",
    abstract: "Measures Scheduler against Dispatch, other peers, and the limits of the machine, in one run.")

  @Option(help: "Only the rows whose id or description matches this regular expression (limits come along as needed).")
  var filter: String?

  @Option(help: "How many times each contender has its turn, 1 to 1000. (default: 12; with --quick 3)")
  var rounds: Int?

  @Flag(help: "Short samples and few rounds: for a look, not for a figure.")
  var quick = false

  @Option(help: "Where to write everything that was measured, as JSON.")
  var json = "bench/out/results.json"

  @Option(help: "Where to write the page with the charts.")
  var html = "bench/out/report.html"

  @Flag(help: "List the rows, and measure nothing.")
  var list = false

  /// One contender by its name, in this process: see `Aside`.
  @Option(help: .hidden)
  var alone: String?

  func validate() throws {
    if let rounds, !(1...1000).contains(rounds) {
      throw ValidationError("--rounds takes a number from 1 to 1000, not \(rounds).")
    }
    if let filter {
      guard let pattern = try? Regex(filter) else {
        throw ValidationError("--filter is not a regular expression: \(filter)")
      }
      guard allRows.contains(where: { matches($0, pattern) }) else {
        throw ValidationError("--filter matches no row. The rows are: \(allRows.map(\.id).joined(separator: ", ")).")
      }
    }
  }

  func run() throws {
    if let alone {
      print(Aside.here(alone) ?? .nan)
      fflush(nil)
      _exit(0)  // what waits is not worth taking down
    }
    let rows = chosenRows()
    if list {
      for row in rows { print("\(row.id)  \(row.work): \(row.contenders.map(\.name).joined(separator: ", "))") }
      return
    }
    try prepare(json)
    try prepare(html)

    let isTerminal = isatty(STDERR_FILENO) == 1
    let rounds = self.rounds ?? (quick ? 3 : 12)
    let runner = Runner(rounds: rounds, sampleLength: quick ? 4e6 : 15e6) { text in
      if isTerminal { FileHandle.standardError.write(Data("\r\u{1B}[K\(text)".utf8)) }
    }
    let results = runner.run(rows)
    if isTerminal { FileHandle.standardError.write(Data("\r\u{1B}[K".utf8)) }

    let machine = Machine.current()
    print(TableReport(rows: results).text)
    print(
      "\n\(machine.processor), \(machine.processors) processors; Linux \(machine.kernel); Swift \(machine.swift); \(machine.date)"
    )
    print("\(rounds) rounds in turn, medians; compare within a row: a difference under 15 % is none.")
    try write(JSONReport(machine: machine, rounds: rounds, rows: results).data(), to: json)
    try write(Data(HTMLReport(machine: machine, rounds: rounds, rows: results).text.utf8), to: html)
    print("\nwritten: \(html), \(json)")
  }

  private func matches(_ row: Row, _ pattern: Regex<AnyRegexOutput>) -> Bool {
    row.id.contains(pattern) || row.work.contains(pattern)
  }

  private func chosenRows() -> [Row] {
    guard let filter, let pattern = try? Regex(filter) else { return allRows }
    let chosen = allRows.filter { matches($0, pattern) }
    let needed = Set(
      chosen.flatMap(\.targets).compactMap { target -> String? in
        if case .limit(let id) = target.base { return id }
        return nil
      })
    return allRows.filter { row in needed.contains(row.id) || chosen.contains { $0.id == row.id } }
  }

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

let allRows =
  limitRows + lockRows + trampolineRows + queueRows + hopRows + timerRows + punctualityRows + poolRows + serialRows
  + disposableRows + blockingRows + idleRows
