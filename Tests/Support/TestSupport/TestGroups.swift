import CTestSupport
import Scheduler

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Limits how many tests run at a time. Checks for leaked objects of the library whenever no test runs. Ends the
/// process, with the names of the tests that run, when it waits for what never comes.
///
/// The counts are the process's: so a check is possible only when no test runs, and a finding names all tests since the
/// last check.
/// With `--no-parallel` that is one test.
public final class TestGroups: Sendable {
  /// The one for all tests of the process.
  public static let shared = TestGroups(width: Scale.width, idleSeconds: 45)

  /// The leaked objects, and the tests since the last check, one of which leaked them.
  public struct Finding: Error, Equatable, CustomStringConvertible {
    public let left: Diagnostics
    public let tests: [String]
    public var description: String { "left: \(left), by one of: \(tests.joined(separator: ", "))" }
  }

  private struct State {
    var since: [String] = []
    var running: [String] = []
    var isWatched = false
    var waiting: [(name: String, go: CheckedContinuation<Void, Never>)] = []
    /// Leaks that were reported before, and are not reported again.
    var known = Diagnostics()

    mutating func begin(_ name: String) {
      since.append(name)
      running.append(name)
    }
  }

  private let width: Int
  private let patience: Duration
  private let idleSeconds: Int?
  private let state = Protected(State())

  /// At most `width` tests run at a time. A check waits up to `patience` for objects to be released. After
  /// `idleSeconds` in which tests run, but neither this process nor its children use a processor, the process ends;
  /// nil: it does not.
  public init(width: Int, patience: Duration = .seconds(10), idleSeconds: Int? = nil) {
    self.width = width
    self.patience = patience
    self.idleSeconds = idleSeconds
  }

  /// Starts the thread that looks for a hang, at the first call.
  private func watch() {
    let isFirst = state.withLock { state in
      defer { state.isWatched = true }
      return !state.isWatched
    }
    guard idleSeconds != nil, isFirst else { return }
    ctest_run_on_thread(
      { Unmanaged<TestGroups>.fromOpaque($0!).takeRetainedValue().awaitHang() }, Unmanaged.passRetained(self).toOpaque()
    )
  }

  /// Counts the seconds in a row in which this process and its children use less than a twentieth of a processor: so no
  /// load of the machine counts, and no time in which this process is stopped. Never returns.
  private func awaitHang() {
    var idle = 0, before: Int64 = 0
    while true {
      sleep(1)
      let now = ctest_family_processor_time(), running = state.withLock { $0.running }
      idle = running.isEmpty || abs(now - before) > 50_000_000 ? 0 : idle + 1
      before = now
      if idle < idleSeconds! { continue }
      for name in running { print("✘ Test \"\(name)\" hangs: it runs, and no processor was used for \(idle) seconds.") }
      fflush(nil)
      Schedulers.dump()
      _exit(1)
    }
  }

  /// Returns when the test may run.
  public func enter(_ name: String) async {
    watch()
    await withCheckedContinuation { go in
      let mayGo = state.withLock { state in
        guard state.running.count < width else {
          state.waiting.append((name, go))
          return false
        }
        state.begin(name)
        return true
      }
      if mayGo { go.resume() }
    }
  }

  /// Ends a test, by the name of its `enter`. The last running test gets the finding, if there is one.
  public func leave(_ name: String) async -> Finding? {
    let isLast = state.withLock { $0.running.count == 1 && $0.waiting.isEmpty }
    let finding = isLast ? await look() : nil
    let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
      state.running.remove(at: state.running.firstIndex(of: name)!)
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
    while !Diagnostics.live.since(known).isEmpty, state.withLock({ $0.running.count }) == 1, ContinuousClock.now < end {
      try? await Task.sleep(for: .milliseconds(1))
    }
    let live = Diagnostics.live, left = live.since(known)
    return state.withLock { state in
      guard state.running.count == 1 else { return nil }
      defer { state.since = [] }
      if left.isEmpty { return nil }
      state.known = live
      return Finding(left: left, tests: state.since)
    }
  }
}
