/// The end of a scheduler's thread: releases the values confined to the thread, and resumes the tasks that wait for the
/// end.
final class ThreadEnd: Sendable {
  private struct State {
    var isOver = false  // `finish` was called
    var valuesAreReleased = false  // `releaseValues` was called: no function is added to `values` any more
    var lastKey = 0  // the most recent key of `values`
    /// The functions that release the confined values. Keys increase in the order in which the functions were added.
    var values: [Int: @Sendable () -> Void] = [:]
    var waiting: [Resumption<Void>] = []  // the tasks in `wait`
  }

  private let state = Protected(State())

  /// Registers `release`, which the thread calls after its final job. After `releaseValues` it is ignored. Returns the
  /// key for ``remove(_:)``.
  func add(_ release: @escaping @Sendable () -> Void) -> Int {
    state.withLock { state in
      state.lastKey += 1
      if !state.valuesAreReleased { state.values[state.lastKey] = release }
      return state.lastKey
    }
  }

  /// Removes the function that `add` registered under `key`, without calling it. Does nothing if there is none.
  func remove(_ key: Int) {
    let release = state.withLock { $0.values.removeValue(forKey: key) }
    _ = consume release  // released outside the lock
  }

  /// Whether the confined values have been released, because the thread has ended or is about to end.
  var areValuesReleased: Bool { state.withLock { $0.valuesAreReleased } }

  /// Releases the confined values, the newest first. Called on the thread.
  func releaseValues() {
    let values = state.withLock { state in
      defer { state.values = [:] }
      state.valuesAreReleased = true
      return state.values
    }
    for (_, release) in values.sorted(by: { $0.key > $1.key }) { release() }  // outside the lock: user code
  }

  /// Resumes the waiting tasks. The thread calls this as its final step, so a resumed task that joins the thread waits
  /// only briefly.
  func finish() {
    let waiting = state.withLock { state in
      defer { state.waiting = [] }
      state.isOver = true
      return state.waiting
    }
    // on the pool, not on this thread: the resumed task may join this thread
    for each in waiting { each.finish(.success(()), onPool: true) }
  }

  /// Suspends the task until ``finish()`` has been called.
  func wait(isolation: isolated (any Actor)?) async {
    let resumption = Resumption<Void>()
    // `try?` hides no error: `finish` only reports success.
    try? await resumption.outcome(isolation: isolation) {
      let isOver = state.withLock { state in  // one critical section, so that `finish` cannot come between
        if !state.isOver { state.waiting.append(resumption) }
        return state.isOver
      }
      if isOver { resumption.finish(.success(())) }
    }
  }
}
