import CTestSupport
import Scheduler
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The program of the C tests, which SwiftPM builds beside the test program. It runs once; each test waits for its own
/// line.
final class CoreTestProgram: Sendable {
  static let shared = CoreTestProgram()

  struct Finding: Sendable {
    let text: String
    let place: SourceLocation
  }

  /// The tests of the program, by name.
  static let names = lines(of: "--list")

  private enum Outcome { case waiting(CheckedContinuation<Finding?, Never>), ended(Finding?) }
  private let outcomes = Protected<[String: Outcome]>([:])
  private let hasBegun = Protected(false)

  private static let path: String = {
    var buffer = [CChar](repeating: 0, count: 4_096)
    let length = readlink("/proc/self/exe", &buffer, buffer.count - 1)
    let own = length > 0 ? String(decoding: buffer[..<length].map(UInt8.init), as: UTF8.self) : CommandLine.arguments[0]
    return own.prefix(through: own.lastIndex(of: "/") ?? own.startIndex) + "ctests"
  }()

  /// What the program prints when it is called by a shell with `arguments`.
  static func lines(of arguments: String) -> [String] {
    var lines: [String] = []
    read(arguments) { lines.append($0) }
    return lines
  }

  private static func read(_ arguments: String, _ use: (String) -> Void) {
    guard let output = popen("'\(path)' \(arguments)", "r") else { return }
    defer { pclose(output) }
    var line: UnsafeMutablePointer<CChar>?
    var room = 0
    defer { free(line) }
    while case let length = getline(&line, &room, output), length > 0 {
      use(String(decoding: UnsafeRawBufferPointer(start: line, count: length - 1), as: UTF8.self))
    }
  }

  /// What is wrong with a test; `nil`: nothing.
  func finding(of name: String) async -> Finding? {
    if !hasBegun.exchange(true) {
      ctest_run_on_thread({ _ in CoreTestProgram.shared.run() }, nil)
    }
    return await withCheckedContinuation { continuation in
      let finding: Finding?? = outcomes.withLock { outcomes in
        if case .ended(let finding) = outcomes[name] { return .some(finding) }
        outcomes[name] = .waiting(continuation)
        return nil
      }
      if let finding { continuation.resume(returning: finding) }
    }
  }

  private func run() {
    Self.read("") { line in
      if line.hasPrefix("seed ") { print("the C core: SCHEDULER_TEST_SEED=\(line.dropFirst(5))") }
      if let (name, finding) = Self.parse(line) { end(name, finding) }
    }
    for name in Self.names {
      end(name, Finding(text: "\(name): the program ended before this test", place: #_sourceLocation))
    }
  }

  /// The first outcome of a test is kept.
  private func end(_ name: String, _ finding: Finding?) {
    let waiting: CheckedContinuation<Finding?, Never>? = outcomes.withLock { outcomes in
      if case .ended = outcomes[name] { return nil }
      defer { outcomes[name] = .ended(finding) }
      if case .waiting(let continuation) = outcomes[name] { return continuation }
      return nil
    }
    waiting?.resume(returning: finding)
  }

  /// Reads `ok NAME (12 ms)`, `skipped NAME: why` and `FAILED NAME (12 ms): FILE:LINE: text`.
  private static func parse(_ line: String) -> (String, Finding?)? {
    if line.hasPrefix("skipped ") {
      return names.first { line.hasPrefix("skipped \($0): ") }.map { ($0, nil) }
    }
    guard let word = ["ok ", "FAILED "].first(where: line.hasPrefix),
      let name = names.first(where: { line.dropFirst(word.count).hasPrefix("\($0) (") })
    else { return nil }
    if word == "ok " { return (name, nil) }
    let text = line[(line.range(of: "): ")?.upperBound ?? line.startIndex)...]
    let parts = text.split(separator: ":", maxSplits: 2)
    guard parts.count == 3, let number = Int(parts[1]) else {
      return (name, Finding(text: line, place: #_sourceLocation))
    }
    let file = String(parts[0].split(separator: "/").last ?? "")
    let place = SourceLocation(fileID: "ctests/\(file)", filePath: String(parts[0]), line: max(number, 1), column: 1)
    return (name, Finding(text: "\(name):\(parts[2])", place: place))
  }
}

extension StringProtocol {
  fileprivate func range(of text: String) -> Range<Index>? {
    var start = startIndex
    while start < endIndex {
      if self[start...].hasPrefix(text) { return start..<index(start, offsetBy: text.count) }
      start = index(after: start)
    }
    return nil
  }
}
