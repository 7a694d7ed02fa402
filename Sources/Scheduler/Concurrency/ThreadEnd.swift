/// What a thread does at its end: it lets go of the values that are confined to it, and resumes the tasks that wait for that.
final class ThreadEnd: Sendable {
  private struct State {
    var isOver = false
    /// The values are gone, and no other will be made.
    var areReleased = false
    var last = 0
    /// What lets go of each value, in the order of their making.
    var values: [Int: @Sendable () -> Void] = [:]
    var waiting: [Resumption<Void>] = []
  }

  private let state = Protected(State())

  /// Has the thread call `release` at its end, after its last job. Returns what takes that back.
  func add(_ release: @escaping @Sendable () -> Void) -> Int {
    state.withLock { state in
      state.last += 1
      if !state.areReleased { state.values[state.last] = release }
      return state.last
    }
  }

  func remove(_ key: Int) {
    let release = state.withLock { $0.values.removeValue(forKey: key) }
    _ = consume release  // outside of the lock
  }

  /// Whether the values are gone, because the thread has ended, or is about to.
  var areValuesReleased: Bool { state.withLock { $0.areReleased } }

  /// Lets go of the values, those made last first.
  func releaseValues() {
    let values = state.withLock { state in
      defer { state.values = [:] }
      state.areReleased = true
      return state.values
    }
    for (_, release) in values.sorted(by: { $0.key > $1.key }) { release() }
  }

  func finish() {
    let waiting = state.withLock { state in
      defer { state.waiting = [] }
      state.isOver = true
      return state.waiting
    }
    for each in waiting { each.finish(.success(()), elsewhere: true) }  // others may join this thread
  }

  /// Suspends the task until the thread has done all that.
  func wait(isolation: isolated (any Actor)?) async {
    let resumption = Resumption<Void>()
    // It is never finished with an error.
    try? await resumption.outcome(isolation: isolation) {
      let isOver = state.withLock { state in
        if !state.isOver { state.waiting.append(resumption) }
        return state.isOver
      }
      if isOver { resumption.finish(.success(())) }
    }
  }
}
