internal import CScheduler

/// The tasks that sleep in one virtual time, and the watchers: tasks that wait until a given number of tasks is asleep.
final class Sleepers: Sendable {
  private struct State {
    /// Sleeping tasks. Keys increase in the order in which the tasks fell asleep.
    var asleep: [UInt64: Sleeper] = [:]
    var lastNumber: UInt64 = 0  // the most recent key
    var isOver = false  // sleeping in this virtual time has ended: new sleeps are cancelled
    var watchers: [(count: Int, resumption: Resumption<Bool>)] = []

    /// Removes and returns the watchers whose count has been reached.
    mutating func takeSatisfied() -> [Resumption<Bool>] {
      let satisfied = watchers.filter { $0.count <= asleep.count }.map(\.resumption)
      watchers.removeAll { $0.count <= asleep.count }
      return satisfied
    }
  }

  private let state = Protected(State())

  var count: Int { state.withLock { $0.asleep.count } }

  /// Adds `sleeper` under a new key, unless `accept` rejects the key because the sleeper has woken already. Returns false if `isOver`.
  fileprivate func add(_ sleeper: Sleeper, _ accept: (UInt64) -> Bool) -> Bool {
    let (maySleep, satisfied): (Bool, [Resumption<Bool>]) = state.withLock {
      if $0.isOver { return (false, []) }
      $0.lastNumber += 1
      guard accept($0.lastNumber) else { return (true, []) }
      $0.asleep[$0.lastNumber] = sleeper
      return (true, $0.takeSatisfied())
    }
    for watcher in satisfied { watcher.finish(.success(true)) }
    return maySleep
  }

  fileprivate func remove(_ number: UInt64) { state.withLock { _ = $0.asleep.removeValue(forKey: number) } }

  /// Ends sleeping in this virtual time: cancels all sleeps, in the order in which they started, and each later sleep.
  func end() {
    let asleep = state.withLock {
      $0.isOver = true
      return $0.asleep
    }
    for (_, sleeper) in asleep.sorted(by: { $0.key < $1.key }) { sleeper.cancel() }
  }

  /// Finishes `watcher` as soon as `count` tasks are asleep.
  func watch(_ watcher: Resumption<Bool>, until count: Int) {
    let satisfied = state.withLock {
      if !watcher.isOver { $0.watchers.append((count, watcher)) }  // a cancelled watcher is not added
      return $0.takeSatisfied()
    }
    for watcher in satisfied { watcher.finish(.success(true)) }
  }

  /// Removes `watcher`, which has been cancelled.
  func unwatch(_ watcher: Resumption<Bool>) {
    state.withLock { $0.watchers.removeAll { $0.resumption === watcher } }
  }
}

/// One sleep of a task. The task counts as asleep from `begin()` to `wake()`, and not at all if `wake()` comes first.
/// The action that wakes the task is submitted inside ``noted(_:)``. Schedulers may forward the submission, but it reaches its virtual time on the
/// same thread. That virtual time calls ``submitted(to:)``, which stores its `Sleepers` in this sleeper.
final class Sleeper: Sendable {
  private enum Phase: Equatable { case early, asleep(UInt64), awake }  // early: before `begin`; asleep: with its key
  private let phase = Protected(Phase.early)
  private let sleepers = Protected<Sleepers?>(nil)  // where the task counts as asleep; nil: not in virtual time
  private let onCancel: @Sendable () -> Void

  /// Creates a sleeper that calls `onCancel` when its sleep is cancelled.
  init(onCancel: @escaping @Sendable () -> Void) { self.onCancel = onCancel }

  /// Calls `submit`, which submits the waking action. Until it returns, this sleeper is the thread's noted sleeper.
  func noted<Result>(_ submit: () -> Result) -> Result {
    let before = csched_swift_note_sleeper_(Unmanaged.passUnretained(self).toOpaque())
    defer { _ = csched_swift_note_sleeper_(before) }
    return submit()
  }

  /// Whether this thread is inside ``noted(_:)``: the next submission is a waking action.
  static var isNoted: Bool { csched_swift_sleeper_() != nil }

  /// If the thread has a noted sleeper, stores `sleepers` in it: the sleeping tasks of its virtual time.
  static func submitted(to sleepers: Sleepers) {
    guard let noted = csched_swift_sleeper_() else { return }
    Unmanaged<Sleeper>.fromOpaque(noted).takeUnretainedValue().sleepers.write(sleepers)
  }

  /// Counts the task as asleep. Cancels the sleep if sleeping in its virtual time has ended.
  func begin() {
    guard let sleepers = sleepers.read() else { return }  // not in virtual time
    let maySleep = sleepers.add(self) { number in
      phase.withLock { phase in
        guard phase == .early else { return false }
        phase = .asleep(number)
        return true
      }
    }
    if !maySleep { cancel() }
  }

  /// Ends the sleep without cancelling it: the task no longer counts as asleep.
  func wake() { if case .asleep(let number) = phase.exchange(.awake) { sleepers.read()?.remove(number) } }

  func cancel() {
    wake()  // no longer counted as asleep
    onCancel()
  }
}
