import Foundation

/// A contender that is measured in a process of its own: this program again, told its name.
public struct Aside {
  public let name: String

  public init(_ row: Row, _ contender: Contender) { name = "\(row.id) \(contender.name)" }

  /// What the new process is told besides: what this one was. Set once, before anything runs.
  nonisolated(unsafe) public static var arguments: [String] = []

  /// Where the counters are.
  public static var counters: URL { program.deletingLastPathComponent().appendingPathComponent("libBenchCounts.so") }

  static var program: URL { URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath() }

  /// Takes the values in a new process; none when that fails.
  func run(counted: Bool) -> [Double] {
    let process = Process(), pipe = Pipe()
    process.executableURL = Aside.program
    process.arguments = ["--alone", name] + Aside.arguments
    process.standardOutput = pipe
    if counted {
      guard FileManager.default.fileExists(atPath: Aside.counters.path) else { return [] }
      process.environment = ProcessInfo.processInfo.environment.merging(["LD_PRELOAD": Aside.counters.path]) { $1 }
    }
    guard (try? process.run()) != nil else { return [] }
    let data = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    let values = (try? JSONDecoder().decode([Double].self, from: data)) ?? []
    return values.allSatisfy(\.isFinite) ? values : []
  }

  /// Takes the values of the contender called `name` in this process, as JSON; `nil` when there is none.
  public static func here(_ name: String, in rows: [Row]) -> (text: String, counted: Bool)? {
    for row in rows {
      for contender in row.contenders where Aside(row, contender).name == name {
        guard case .aside(_, let counted, let body) = contender.measure else { return nil }
        return ((try? JSONEncoder().encode(body())).map { String(decoding: $0, as: UTF8.self) } ?? "[]", counted)
      }
    }
    return nil
  }
}
