import Scheduler

/// Runs tests in groups, and looks between two groups, when no test runs, whether anything of ours is alive.
///
/// Tests run side by side, and the counts are the process's. So a group takes so many, and when the last of them
/// has ended, nothing may be left. The next group waits for that look. With `--no-parallel` each group is one test.
public final class TestGroups: Sendable {
  /// The one for all tests of the process.
  public static let shared = TestGroups(groupSize: 24)

  /// What was left, and by whom: one of those that ran since the look before.
  public struct Finding: Error, Equatable, CustomStringConvertible {
    public let left: Diagnostics
    public let tests: [String]
    public var description: String { "left: \(left), by \(tests.joined(separator: ", or "))" }
  }

  private struct State {
    var group: [String] = []
    var running = 0
    var isLooking = false
    var waiting: [(name: String, go: CheckedContinuation<Void, Never>)] = []
    /// What has been left before, and is not reported again.
    var known = Diagnostics()

    mutating func join(_ name: String) {
      group.append(name)
      running += 1
    }
  }

  private let groupSize: Int
  private let patience: Duration
  private let state = Protected(State())

  /// Makes one whose groups have at most `groupSize` tests, and that waits for `patience` until nothing is left.
  public init(groupSize: Int, patience: Duration = .seconds(10)) {
    self.groupSize = groupSize
    self.patience = patience
  }

  /// Returns when the test may run. One that is `urgent`, because its time is limited, does not wait for a group with room.
  public func enter(_ name: String, isUrgent: Bool = false) async {
    await withCheckedContinuation { go in
      let mayGo = state.withLock { state in
        guard !state.isLooking, isUrgent || state.group.count < groupSize else {
          if isUrgent { state.waiting.insert((name, go), at: 0) } else { state.waiting.append((name, go)) }
          return false
        }
        state.join(name)
        return true
      }
      if mayGo { go.resume() }
    }
  }

  /// Says that the test has ended. The last one of a group gets the finding, if there is one.
  public func leave() async -> Finding? {
    let isLast = state.withLock { state in
      state.running -= 1
      state.isLooking = state.running == 0
      return state.isLooking
    }
    guard isLast else { return nil }
    let known = state.withLock { $0.known }
    let end = ContinuousClock.now + patience
    while !Diagnostics.live.since(known).isEmpty, ContinuousClock.now < end {
      try? await Task.sleep(for: .milliseconds(1))
    }
    let live = Diagnostics.live, left = live.since(known)
    let (tests, next) = state.withLock { state in
      if !left.isEmpty { state.known = live }
      defer { state.isLooking = false }
      let tests = state.group
      state.group = []
      let next = state.waiting.prefix(groupSize)
      state.waiting.removeFirst(next.count)
      for each in next { state.join(each.name) }
      return (tests, next)
    }
    for each in next { each.go.resume() }
    return left.isEmpty ? nil : Finding(left: left, tests: tests)
  }
}
