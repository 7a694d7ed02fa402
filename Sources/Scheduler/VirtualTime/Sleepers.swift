/// The tasks that are asleep in virtual time, and those that wait until there are so many.
final class Sleepers: Sendable {
  private struct State {
    var count = 0
    var watchers: [(count: Int, resumption: Resumption<Bool>)] = []

    mutating func takeSatisfied() -> [Resumption<Bool>] {
      let satisfied = watchers.filter { $0.count <= count }.map(\.resumption)
      watchers.removeAll { $0.count <= count }
      return satisfied
    }
  }

  private let state = Protected(State())

  var count: Int { state.withLock { $0.count } }

  fileprivate func change(by change: Int) {
    let satisfied = state.withLock {
      $0.count += change
      return $0.takeSatisfied()
    }
    for watcher in satisfied { watcher.finish(.success(true)) }
  }

  /// Finishes `watcher` as soon as `count` tasks are asleep.
  func watch(_ watcher: Resumption<Bool>, until count: Int) {
    let satisfied = state.withLock {
      $0.watchers.append((count, watcher))
      return $0.takeSatisfied()
    }
    for watcher in satisfied { watcher.finish(.success(true)) }
  }

  /// Forgets `watcher`, which has been cancelled.
  func unwatch(_ watcher: Resumption<Bool>) {
    state.withLock { $0.watchers.removeAll { $0.resumption === watcher } }
  }
}

/// A task's part in that: it is counted from the one to the other, and never when it wakes before it begins to sleep.
final class Sleeper: Sendable {
  private enum Phase { case early, asleep, awake }
  private let phase = Protected(Phase.early)
  private let sleepers: Sleepers

  init(in sleepers: Sleepers) { self.sleepers = sleepers }

  func begin() {
    let begins = phase.withLock { phase in
      defer { if phase == .early { phase = .asleep } }
      return phase == .early
    }
    if begins { sleepers.change(by: 1) }
  }

  func wake() { if phase.exchange(.awake) == .asleep { sleepers.change(by: -1) } }
}
