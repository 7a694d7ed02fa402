internal import CScheduler

/// The tasks that sleep in one virtual time, and the watchers: tasks that wait until a given number of tasks is asleep.
final class Sleepers: Sendable {
  private struct State {
    /// Sleeping tasks. Keys increase in the order in which the tasks fell asleep.
    var asleep: [UInt64: Sleeper] = [:]
    var lastKey: UInt64 = 0  // the most recent key
    var isOver = false  // sleeping in this virtual time has ended: new sleeps are cancelled
    var watchers: [(count: Int, resumption: Resumption<Bool>)] = []  // each waits until `count` tasks are asleep

    /// Removes and returns the watchers whose count has been reached.
    mutating func takeSatisfied() -> [Resumption<Bool>] {
      let satisfied = watchers.filter { $0.count <= asleep.count }.map(\.resumption)
      watchers.removeAll { $0.count <= asleep.count }
      return satisfied
    }
  }

  private let state = Protected(State())

  /// The number of tasks that are asleep.
  var count: Int { state.withLock { $0.asleep.count } }

  /// Adds `sleeper` under a new key, which `accept` stores. Does not add it if `accept` returns false: the sleeper has
  /// woken already. Returns false if sleeping in this virtual time has ended: the caller must cancel the sleep.
  fileprivate func add(_ sleeper: Sleeper, _ accept: (UInt64) -> Bool) -> Bool {
    let (maySleep, satisfied): (Bool, [Resumption<Bool>]) = state.withLock {
      if $0.isOver { return (false, []) }
      $0.lastKey += 1
      guard accept($0.lastKey) else { return (true, []) }  // awake already: there is nothing to cancel
      $0.asleep[$0.lastKey] = sleeper
      return (true, $0.takeSatisfied())
    }
    for watcher in satisfied { watcher.finish(.success(true)) }  // outside the lock: it resumes a task
    return maySleep
  }

  fileprivate func remove(_ key: UInt64) { state.withLock { _ = $0.asleep.removeValue(forKey: key) } }

  /// Ends sleeping in this virtual time. Cancels all sleeps, in the order in which they started. Later sleeps are
  /// cancelled when they start.
  func end() {
    let asleep = state.withLock {
      $0.isOver = true
      return $0.asleep  // a copy: each `cancel` below removes its own entry
    }
    for (_, sleeper) in asleep.sorted(by: { $0.key < $1.key }) { sleeper.cancel() }
  }

  /// Finishes `watcher` with true as soon as at least `count` tasks are asleep.
  func watch(_ watcher: Resumption<Bool>, until count: Int) {
    let satisfied = state.withLock {
      if !watcher.isOver { $0.watchers.append((count, watcher)) }  // a cancelled watcher is not added
      return $0.takeSatisfied()
    }
    for watcher in satisfied { watcher.finish(.success(true)) }
  }

  /// Removes `watcher`, whose task no longer waits. Does nothing if it has been finished.
  func unwatch(_ watcher: Resumption<Bool>) {
    state.withLock { $0.watchers.removeAll { $0.resumption === watcher } }
  }
}

/// One sleep of a task. The task counts as asleep from `begin()` to `wake()`, and not at all if `wake()` comes first.
/// The sleeper must learn in which virtual time its task sleeps. So ``submittingWaker(_:)`` sets a thread-local
/// variable while it submits the action that wakes the task. Wrappers forward the submission on the same thread. The
/// virtual time that receives it calls ``submitted(to:)``.
final class Sleeper: Sendable {
  // early: before `begin`; asleep: with its key in `Sleepers`
  private enum Phase: Equatable { case early, asleep(UInt64), awake }
  private let phase = Protected(Phase.early)
  private let sleepers = Protected<Sleepers?>(nil)  // where the task counts as asleep; nil: not in virtual time
  private let onCancel: @Sendable () -> Void

  /// Creates a sleeper. `cancel()` calls `onCancel`.
  init(onCancel: @escaping @Sendable () -> Void) { self.onCancel = onCancel }

  /// Calls `submit`, which submits the waking action. Until it returns, a thread-local variable of the C core points to
  /// this sleeper.
  func submittingWaker<Result>(_ submit: () -> Result) -> Result {
    // nil, or the sleeper of an enclosing call, which must be set again after this one
    let outer = csched_swift_set_sleeper_(Unmanaged.passUnretained(self).toOpaque())
    defer { _ = csched_swift_set_sleeper_(outer) }
    return submit()
  }

  /// Whether this thread is inside ``submittingWaker(_:)``: it submits a waking action.
  static var isSubmittingWaker: Bool { csched_swift_sleeper_() != nil }

  /// Called at a submission to the virtual time that owns `sleepers`. Inside ``submittingWaker(_:)``, stores
  /// `sleepers`, which `begin` uses later.
  static func submitted(to sleepers: Sleepers) {
    guard let sleeper = csched_swift_sleeper_() else { return }
    Unmanaged<Sleeper>.fromOpaque(sleeper).takeUnretainedValue().sleepers.write(sleepers)
  }

  /// Counts the task as asleep, unless it is awake already. Cancels the sleep if sleeping in its virtual time has
  /// ended.
  func begin() {
    guard let sleepers = sleepers.read() else { return }  // not in virtual time
    let maySleep = sleepers.add(self) { key in
      phase.withLock { phase in
        guard phase == .early else { return false }  // `wake` came first
        phase = .asleep(key)
        return true
      }
    }
    if !maySleep { cancel() }
  }

  /// Ends the sleep without cancelling it: the task no longer counts as asleep.
  func wake() { if case .asleep(let key) = phase.exchange(.awake) { sleepers.read()?.remove(key) } }

  /// Ends the sleep, and calls the function given to `init`.
  func cancel() {
    wake()  // the task no longer counts as asleep
    onCancel()
  }
}
