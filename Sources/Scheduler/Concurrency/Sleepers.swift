internal import CScheduler

/// The tasks that are asleep in virtual time, and the tasks that wait until a given number is asleep.
final class Sleepers: Sendable {
  private struct State {
    /// Keyed by number, in the order in which they fell asleep.
    var asleep: [UInt64: Sleeper] = [:]
    var nextNumber: UInt64 = 0
    var isOver = false
    var watchers: [(count: Int, resumption: Resumption<Bool>)] = []

    mutating func takeSatisfied() -> [Resumption<Bool>] {
      let satisfied = watchers.filter { $0.count <= asleep.count }.map(\.resumption)
      watchers.removeAll { $0.count <= asleep.count }
      return satisfied
    }
  }

  private let state = Protected(State())

  var count: Int { state.withLock { $0.asleep.count } }

  /// Adds `sleeper` if `settle` accepts its number. Returns false if sleeping here has ended.
  fileprivate func add(_ sleeper: Sleeper, _ settle: (UInt64) -> Bool) -> Bool {
    let (isIn, satisfied): (Bool, [Resumption<Bool>]) = state.withLock {
      if $0.isOver { return (false, []) }
      $0.nextNumber += 1
      guard settle($0.nextNumber) else { return (true, []) }
      $0.asleep[$0.nextNumber] = sleeper
      return (true, $0.takeSatisfied())
    }
    for watcher in satisfied { watcher.finish(.success(true)) }
    return isIn
  }

  fileprivate func remove(_ number: UInt64) { state.withLock { _ = $0.asleep.removeValue(forKey: number) } }

  /// Cancels all sleeps, in the order in which they started, and each later one.
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
      if !watcher.isOver { $0.watchers.append((count, watcher)) }  // else it was cancelled first
      return $0.takeSatisfied()
    }
    for watcher in satisfied { watcher.finish(.success(true)) }
  }

  /// Removes `watcher`, which has been cancelled.
  func unwatch(_ watcher: Resumption<Bool>) {
    state.withLock { $0.watchers.removeAll { $0.resumption === watcher } }
  }
}

/// A task that sleeps. It counts as asleep from `begin()` to `wake()`, and not at all if it wakes first.
///
/// The submission of its waking action determines where it counts. That submission reaches the virtual time on the same thread, through any
/// schedulers that forward it.
final class Sleeper: Sendable {
  private enum Phase: Equatable { case early, asleep(UInt64), awake }
  private let phase = Protected(Phase.early)
  private let sleepers = Protected<Sleepers?>(nil)
  private let onCancel: @Sendable () -> Void

  /// Creates a sleeper that calls `onCancel` when its sleep is cancelled.
  init(onCancel: @escaping @Sendable () -> Void) { self.onCancel = onCancel }

  /// Calls `submit`, which submits the waking action, and marks the thread meanwhile.
  func noted<Result>(_ submit: () -> Result) -> Result {
    let before = csched_swift_note_sleeper_(Unmanaged.passUnretained(self).toOpaque())
    defer { _ = csched_swift_note_sleeper_(before) }
    return submit()
  }

  /// Whether this thread submits a waking action: it is inside ``noted(_:)``.
  static var isNoted: Bool { csched_swift_sleeper_() != nil }

  /// Makes the sleeper that this thread submits for, if any, count among `sleepers`.
  static func submitted(to sleepers: Sleepers) {
    guard let noted = csched_swift_sleeper_() else { return }
    Unmanaged<Sleeper>.fromOpaque(noted).takeUnretainedValue().sleepers.write(sleepers)
  }

  func begin() {
    guard let sleepers = sleepers.read() else { return }  // not in virtual time
    let isIn = sleepers.add(self) { number in
      phase.withLock { phase in
        guard phase == .early else { return false }
        phase = .asleep(number)
        return true
      }
    }
    if !isIn { cancel() }
  }

  func wake() { if case .asleep(let number) = phase.exchange(.awake) { sleepers.read()?.remove(number) } }

  func cancel() {
    wake()
    onCancel()
  }
}
