import Scheduler

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Shows on a terminal how far something has come, ten times a second until it is disposed.
final class ProgressBar: Sendable {
  private let state = Protected((done: 0, retries: 0))
  private let total: Int
  private let drawing = SerialDisposable()
  private let scheduler = SerialScheduler(name: "progress", priority: .low)

  init(of total: Int) {
    self.total = total
    guard isatty(STDERR_FILENO) != 0 else { return }
    drawing.disposable = scheduler.schedule(.every(.milliseconds(100), after: .zero)) { [state] in
      let (done, retries) = state.read()
      let text = "\r" + Self.line(done, of: total, retries: retries)
      write(STDERR_FILENO, text, text.utf8.count)
    }
  }

  /// Counts one more.
  func advance(attempts: Int) {
    state.withLock {
      $0.done += 1
      $0.retries += attempts - 1
    }
  }

  /// Draws no more; returns what it would have drawn last.
  func end() -> String {
    drawing.disposable?.disposeAndWait()
    drawing.dispose()
    if isatty(STDERR_FILENO) != 0 { write(STDERR_FILENO, "\r\u{1b}[K", 4) }
    let (done, retries) = state.read()
    return Self.line(done, of: total, retries: retries)
  }

  static func line(_ done: Int, of total: Int, retries: Int) -> String {
    let filled = 20 * done / total
    return "[" + String(repeating: "#", count: filled) + String(repeating: " ", count: 20 - filled)
      + "] \(done)/\(total), \(retries) retries"
  }
}
