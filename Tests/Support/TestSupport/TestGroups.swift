import Scheduler

/// Limits how many tests run at a time. Checks for leaked objects of the library whenever no test runs.
///
/// The counts are the process's: so a check is possible only when no test runs, and a finding names all tests since the last check.
/// With `--no-parallel` that is one test.
public final class TestGroups: Sendable {
  /// The one for all tests of the process.
  public static let shared = TestGroups(width: Scale.width)

  /// The leaked objects, and the tests since the last check, one of which leaked them.
  public struct Finding: Error, Equatable, CustomStringConvertible {
    public let left: Diagnostics
    public let tests: [String]
    public var description: String { "left: \(left), by one of: \(tests.joined(separator: ", "))" }
  }

  private struct State {
    var since: [String] = []
    var running = 0
    var waiting: [(name: String, go: CheckedContinuation<Void, Never>)] = []
    /// Leaks that were reported before, and are not reported again.
    var known = Diagnostics()

    mutating func begin(_ name: String) {
      since.append(name)
      running += 1
    }
  }

  private let width: Int
  private let patience: Duration
  private let state = Protected(State())

  /// At most `width` tests run at a time. A check waits up to `patience` for objects to be released.
  public init(width: Int, patience: Duration = .seconds(10)) {
    self.width = width
    self.patience = patience
  }

  /// Returns when the test may run.
  public func enter(_ name: String) async {
    await withCheckedContinuation { go in
      let mayGo = state.withLock { state in
        guard state.running < width else {
          state.waiting.append((name, go))
          return false
        }
        state.begin(name)
        return true
      }
      if mayGo { go.resume() }
    }
  }

  /// Ends a test. The last running test gets the finding, if there is one.
  public func leave() async -> Finding? {
    let isLast = state.withLock { $0.running == 1 && $0.waiting.isEmpty }
    let finding = isLast ? await look() : nil
    let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
      state.running -= 1
      guard !state.waiting.isEmpty else { return nil }
      let next = state.waiting.removeFirst()
      state.begin(next.name)
      return next.go
    }
    next?.resume()
    return finding
  }

  /// The caller's test is counted as running meanwhile. Finds nothing when others begin.
  private func look() async -> Finding? {
    let known = state.withLock { $0.known }
    let end = ContinuousClock.now + patience
    while !Diagnostics.live.since(known).isEmpty, state.withLock({ $0.running }) == 1, ContinuousClock.now < end {
      try? await Task.sleep(for: .milliseconds(1))
    }
    let live = Diagnostics.live, left = live.since(known)
    return state.withLock { state in
      guard state.running == 1 else { return nil }
      defer { state.since = [] }
      if left.isEmpty { return nil }
      state.known = live
      return Finding(left: left, tests: state.since)
    }
  }
}
