import Logging
import Scheduler

/// Whether `condition` comes true within ten seconds.
func eventually(_ condition: () -> Bool) -> Bool {
  let deadline = MonotonicTime.now.advanced(by: .seconds(10))
  while !condition() {
    if MonotonicTime.now > deadline { return false }
    _ = CountingSemaphore().wait(for: .milliseconds(1))
  }
  return true
}

/// Stops `thread` after what it has, and waits for its end. All that it has run is counted, and logged, then.
func finish(_ thread: ThreadScheduler) {
  thread.stop()
  thread.join()
}

/// Keeps what is logged.
final class Entries: Sendable {
  struct Entry: Sendable {
    let level: Logger.Level
    let message: String
    let metadata: [String: String]
  }

  private let list = Protected<[Entry]>([])

  var all: [Entry] { list.read() }

  /// Those of the scheduler with that name: other tests of this process have theirs.
  func entries(of scheduler: String) -> [Entry] { all.filter { $0.metadata["scheduler"] == scheduler } }

  fileprivate func append(_ entry: Entry) { list.withLock { $0.append(entry) } }

  /// A logger that writes here.
  func logger(_ provider: Logger.MetadataProvider? = nil) -> Logger {
    Logger(label: "test") { _ in Handler(entries: self, metadataProvider: provider) }
  }
}

/// A log handler that honours all kinds of metadata.
private struct Handler: LogHandler {
  let entries: Entries
  var metadataProvider: Logger.MetadataProvider?
  var metadata = Logger.Metadata()
  var logLevel = Logger.Level.trace

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let all = metadata.merging(metadataProvider?.get() ?? [:]) { $1 }.merging(event.metadata ?? [:]) { $1 }
    entries.append(
      Entries.Entry(level: event.level, message: "\(event.message)", metadata: all.mapValues { "\($0)" }))
  }
}
