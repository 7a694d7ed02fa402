import Foundation

/// A program in another language. It is started at the first request, and stays alive between its turns, so that its
/// threads are warm and its code is compiled. It first says what it is, {"name": …}, and then answers each line with
/// one: {"values": [nanoseconds]}.
public final class Helper: @unchecked Sendable {  // one thread asks
  public let name: String

  private let process = Process()
  private let requests = Pipe(), replies = Pipe()
  private var rest = Data()
  private enum State { case idle, alive, over }
  private var state = State.idle

  private struct Reply: Decodable { let values: [Double] }

  public init(_ name: String, _ program: URL, _ arguments: [String]) {
    self.name = name
    process.executableURL = program
    process.arguments = arguments
    process.standardInput = requests
    process.standardOutput = replies
  }

  deinit { if state == .alive { process.terminate() } }

  /// What it says to `request`; nothing when it does not start, has ended, or takes more than two minutes.
  func answer(_ request: String) -> [Double] {
    if state == .idle { start() }
    guard state == .alive else { return [] }
    do {
      try requests.fileHandleForWriting.write(contentsOf: Data((request + "\n").utf8))
      guard let line = line(seconds: 120) else { throw CocoaError(.fileReadUnknown) }
      return try JSONDecoder().decode(Reply.self, from: line).values
    } catch {
      end()
      return []
    }
  }

  private func start() {
    guard (try? process.run()) != nil else { return state = .over }
    state = .alive
    if line(seconds: 120) == nil { end() }
  }

  private func end() {
    state = .over
    process.terminate()
  }

  private func line(seconds: Double) -> Data? {
    let file = replies.fileHandleForReading.fileDescriptor, deadline = Date(timeIntervalSinceNow: seconds)
    while true {
      if let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
        defer { rest = Data(rest[(end + 1)...]) }
        return Data(rest[..<end])
      }
      let left = deadline.timeIntervalSinceNow
      var look = pollfd(fd: file, events: Int16(POLLIN), revents: 0)
      guard left > 0, poll(&look, 1, Int32(left * 1_000)) > 0 else { return nil }
      let more = replies.fileHandleForReading.availableData
      if more.isEmpty { return nil }
      rest.append(more)
    }
  }
}
