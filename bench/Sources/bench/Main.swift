import ArgumentParser
import BenchKit
import CBench
import Foundation

@main
enum Main {
  static func main() {
    signal(SIGPIPE, SIG_IGN)  // a helper that has ended says so by its answers
    cbench_keep_memory()
    var arguments = Array(CommandLine.arguments.dropFirst())
    if arguments.first == "--words" {
      do { arguments = try Words.split(arguments.dropFirst().joined(separator: " ")) } catch {
        fail("BENCH_ARGS cannot be read: \(error)", 64)
      }
    }
    Bench.main(arguments)
  }
}

func fail(_ text: String, _ code: Int32) -> Never {
  FileHandle.standardError.write(Data("Error: \(text)\n".utf8))
  exit(code)
}

struct Bench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bench",
    abstract: "Measures Scheduler against Dispatch, other peers, and the limits of the machine, in one run.",
    subcommands: [Run.self, Compare.self], defaultSubcommand: Run.self)
}

struct Compare: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Says what changed between two runs, beyond noise.",
    discussion: """
      Each figure's rounds (and processes, with --runs) are resampled: that gives an interval for the factor by which its median changed. \
      Something has changed when the whole interval is outside of what the limits and peers, whose code is the same, have moved by. \
      For a figure that is to count, both runs with --runs 5, on a quiet machine.
      """)

  @Argument(help: "What an earlier run has written.")
  var old: String

  @Argument(help: "What a later run has written.")
  var new: String

  func run() throws { print(Comparison(from: read(old), to: read(new)).text) }

  private func read(_ path: String) -> Report {
    do { return try Report(contentsOf: path) } catch is DecodingError {
      fail("\(path) is no result of this benchmark", 66)
    } catch { fail("cannot read \(path): \(error.localizedDescription)", 66) }
  }
}
