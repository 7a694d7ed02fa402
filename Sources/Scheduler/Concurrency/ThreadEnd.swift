/// The work at a thread's end: it releases the values confined to the thread, and resumes the tasks that wait for the end.
final class ThreadEnd: Sendable {
  private struct State {
    var isOver = false  // `finish` was called
    var areReleased = false  // the values have been released, and no more will be made
    var last = 0  // the last key given out
    /// The functions that release the values. Keys increase in the order in which the values were made.
    var values: [Int: @Sendable () -> Void] = [:]
    var waiting: [Resumption<Void>] = []
  }

  private let state = Protected(State())

  /// Registers `release`, which the thread calls at its end, after its last job. Returns the key for ``remove(_:)``.
  func add(_ release: @escaping @Sendable () -> Void) -> Int {
    state.withLock { state in
      state.last += 1
      if !state.areReleased { state.values[state.last] = release }
      return state.last
    }
  }

  func remove(_ key: Int) {
    let release = state.withLock { $0.values.removeValue(forKey: key) }
    _ = consume release  // released outside the lock
  }

  /// Whether the values have been released, because the thread has ended or is about to.
  var areValuesReleased: Bool { state.withLock { $0.areReleased } }

  /// Releases the values, in the reverse order of their making.
  func releaseValues() {
    let values = state.withLock { state in
      defer { state.values = [:] }
      state.areReleased = true
      return state.values
    }
    for (_, release) in values.sorted(by: { $0.key > $1.key }) { release() }
  }

  /// Resumes the waiting tasks. Called last on the thread.
  func finish() {
    let waiting = state.withLock { state in
      defer { state.waiting = [] }
      state.isOver = true
      return state.waiting
    }
    for each in waiting { each.finish(.success(()), elsewhere: true) }  // a resumed task may join this thread
  }

  /// Suspends the task until ``finish()`` has been called.
  func wait(isolation: isolated (any Actor)?) async {
    let resumption = Resumption<Void>()
    // `try?` hides no error: `finish` only reports success.
    try? await resumption.outcome(isolation: isolation) {
      let isOver = state.withLock { state in
        if !state.isOver { state.waiting.append(resumption) }
        return state.isOver
      }
      if isOver { resumption.finish(.success(())) }
    }
  }
}
