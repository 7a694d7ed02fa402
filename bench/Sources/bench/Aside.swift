import Foundation

/// A contender that is measured in a process of its own: this program again, told its name.
struct Aside {
  let name: String

  init(_ row: Row, _ contender: Contender) { name = "\(row.id) \(contender.name)" }

  /// Takes the figure in a new process; not a number when that fails.
  func run() -> Double {
    let process = Process(), pipe = Pipe()
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments = ["--alone", name]
    process.standardOutput = pipe
    guard (try? process.run()) != nil else { return .nan }
    let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return Double(text.trimmingCharacters(in: .whitespacesAndNewlines)) ?? .nan
  }

  /// Takes the figure called `name` in this process; `nil` when there is none.
  static func here(_ name: String) -> Double? {
    for row in allRows {
      for contender in row.contenders where Aside(row, contender).name == name {
        if case .aside(_, let body) = contender.measure { return body() }
      }
    }
    return nil
  }
}
