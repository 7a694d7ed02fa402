// States, under `lock`: those of each action, as its `phase` · `isDriving`: one thread has the heap · `requests`, `isStopped`: what it is
// to look at before it stops driving.
// Obligations
//   VQ1  One thread drives at a time; what is asked for meanwhile it has done when it stops.
//   VQ2  An action runs once, or is released by its disposal or by the queue's end; one that is disposed while it waits never runs.
//   VQ3  When the disposal of one that waits returns, its work and captures are gone.
//   VQ4  Nothing that user code may end with is released under the lock; time never moves back.
//   VQ5  Who disposes and waits returns when no other thread runs the action, or releases what it held.
//   The links of actions: Y1 to Y3, in ActionChain.swift.
// Orderings: the lock's.
// Checked by: "several threads that drive never run two actions at a time, and when all have returned all is done",
//   "threads schedule and dispose while one advances: each action runs once or was disposed, and none is lost",
//   "dispose releases the captures before it returns, and the action never runs",
//   "the end of captures, and the disposal of others by it, happen under no lock",
//   "disposeAndWait returns after the running action has ended, whoever drives virtual time".
// Models: swift/virtual/virtual.swift.

/// What waits in virtual time, and the clock: the part of a ``VirtualTimeScheduler`` that its actions know.
///
/// Whoever submits only appends to `inbox`. The order is made by the thread that drives, which owns the heap meanwhile: comparing
/// is the converter's, so it must not happen under the lock. Insertion is constant for the one, and a logarithm for the other.
///
/// Disposing leaves a husk behind, without the closure. Husks are taken out when they outnumber the rest, from the inbox at once,
/// from the heap as soon as nobody owns it, or by its owner: so disposing costs amortised constant time, and memory stays in
/// proportion to what is alive.
// Unchecked, because the compiler does not see that all that changes is guarded by `lock`; but for the heap, which belongs to
// the thread that has set `isDriving`, and is guarded by the lock when that is not set.
final class VirtualQueue<Converter: VirtualTimeConverter>: @unchecked Sendable {
  typealias Time = Converter.VirtualTimeUnit
  typealias Action = VirtualAction<Converter>

  /// How many husks are let be. Speed only.
  private static var fewHusks: Int { 32 }

  let converter: Converter
  let lock = InlineLock()

  private var clock: Time
  private var clockVersion: UInt64 = 0

  private var inbox: [Action] = []
  /// The order of the first that went into the inbox, so that an action is known to be in it.
  private var inboxStart: UInt64 = 0
  private var nextOrder: UInt64 = 0
  private var heap = VirtualHeap<Action>()
  private var inboxHusks = 0
  private var heapHusks = 0

  /// What has been asked for and not been taken up, while one thread drives.
  private var requests: [VirtualDrive<Time>.Request] = []
  private var isDriving = false
  private var isStopped = false

  private(set) var live = 0
  private var awaited = 0
  private(set) var asleep = 0
  /// When a thread has done with an action; and whether somebody waits for that.
  let ends = Occurrence()
  private var isAwaited = false
  private var watchers: [(count: Int, resumption: Resumption<Bool>)] = []

  init(clock: Time, converter: Converter) {
    self.clock = clock
    self.converter = converter
  }

  // MARK: the clock

  var time: Time { lock.withLock { clock } }

  /// Moves the clock to `time`, unless it is there or later.
  func raiseClock(to time: Time) {
    while true {
      let (seen, version) = lock.withLock { (clock, clockVersion) }
      guard converter.isEarlier(seen, than: time) else { return }
      var other = time  // the old time ends outside of the lock
      let isRaised = lock.withLock {
        guard version == clockVersion else { return false }
        swap(&clock, &other)
        clockVersion += 1
        return true
      }
      if isRaised { return }
    }
  }

  // MARK: submitting and disposing

  /// Adds `action`, behind all others for the same time, unless it has been disposed.
  func submit(_ action: Action) {
    action.isAwaited = !action.isPeriodic && !isAtEnd(action.time)
    let satisfied: [Resumption<Bool>] = lock.withLock {
      guard !action.isDisposedLocked else { return [] }
      action.phase = .waiting
      action.order = nextOrder
      nextOrder += 1
      inbox.append(action)
      countLocked(action, 1)
      return action.isWaking ? takeSatisfiedLocked() : []
    }
    for watcher in satisfied { watcher.finish(.success(true)) }
  }

  /// Whether `time` is where time ends, and the clock is not.
  private func isAtEnd(_ time: Time) -> Bool {
    guard let end = converter.endOfVirtualTime, !converter.isEarlier(time, than: end) else { return false }
    return converter.isEarlier(self.time, than: time)
  }

  private func countLocked(_ action: Action, _ change: Int) {
    live += change
    Counted.jobs(change)
    if action.isAwaited { awaited += change }
    if action.isWaking { asleep += change }
  }

  /// Counts `action`, which waits, as a husk. The caller releases what this returns, outside of the lock.
  func retireLocked(_ action: Action) -> [Action] {
    countLocked(action, -1)
    action.phase = .out
    if action.order >= inboxStart { inboxHusks += 1 } else { heapHusks += 1 }
    return compactLocked()
  }

  /// Takes the husks out where they outnumber the rest, and returns them.
  private func compactLocked() -> [Action] {
    var husks: [Action] = []
    if Self.isTooMany(inboxHusks, of: inbox.count) {
      inbox = Self.alive(inbox, husks: &husks)
      inboxHusks = 0
    }
    if !isDriving, Self.isTooMany(heapHusks, of: heap.count) {
      inbox += Self.alive(heap.takeAll(), husks: &husks)
      inboxStart = 0
      heapHusks = 0
    }
    return husks
  }

  private static func isTooMany(_ husks: Int, of count: Int) -> Bool { husks > fewHusks && husks > count / 2 }

  /// Returns those of `actions` that are alive, and moves the others to `husks`: nothing is released.
  private static func alive(_ actions: [Action], husks: inout [Action]) -> [Action] {
    var kept: [Action] = []
    for action in actions {
      if action.phase == .waiting { kept.append(action) } else { husks.append(action) }
    }
    return kept
  }

  /// Releases all that waits, undone: nobody can drive any more.
  func close() {
    let (all, dropped, remains) = lock.withLock {
      let all = heap.takeAll() + inbox
      Counted.jobs(-live)
      inbox = []
      (inboxHusks, heapHusks, live, awaited, asleep) = (0, 0, 0, 0, 0)
      let waiting = all.filter { $0.phase == .waiting }
      return (all, waiting, waiting.map { $0.dropLocked() })
    }
    _ = (consume remains, consume all)
    for action in dropped { action.leave() }
  }

  // MARK: waiting for the end of an action

  /// Takes note that somebody waits, and returns from where. Under the lock.
  func announceWaitLocked() -> UInt32 {
    isAwaited = true
    return ends.mark
  }

  /// Whether somebody waits, who is now to be woken. Under the lock.
  func takeAwaitedLocked() -> Bool {
    defer { isAwaited = false }
    return isAwaited
  }

  // MARK: tasks that wait for sleepers

  /// Finishes `watcher` as soon as `count` tasks are asleep.
  func watch(_ watcher: Resumption<Bool>, until count: Int) {
    let satisfied = lock.withLock {
      watchers.append((count, watcher))
      return takeSatisfiedLocked()
    }
    for watcher in satisfied { watcher.finish(.success(true)) }
  }

  /// Forgets `watcher`, which has been cancelled.
  func unwatch(_ watcher: Resumption<Bool>) {
    lock.withLock { watchers.removeAll { $0.resumption === watcher } }
  }

  private func takeSatisfiedLocked() -> [Resumption<Bool>] {
    let satisfied = watchers.filter { $0.count <= asleep }.map(\.resumption)
    watchers.removeAll { $0.count <= asleep }
    return satisfied
  }

  // MARK: the thread that drives

  /// Takes note of `request`, and tells whether the caller is the one who is to drive.
  func beginDriving(_ request: VirtualDrive<Time>.Request) -> Bool {
    lock.withLock {
      requests.append(request)
      defer { isDriving = true }
      return !isDriving
    }
  }

  /// Gives the heap back, unless something more has been asked for; tells whether it did.
  func endDriving() -> Bool {
    lock.withLock {
      guard requests.isEmpty else { return false }
      isDriving = false
      return true
    }
  }

  /// Makes an end of what has been asked for so far, if anything.
  func stop() {
    let old = lock.withLock {
      guard isDriving else { return requests }
      isStopped = true
      defer { requests = [] }
      return requests
    }
    _ = consume old
  }

  /// Takes over what was asked for and submitted meanwhile.
  func takeRequests() -> (requests: [VirtualDrive<Time>.Request], isStopped: Bool) {
    var husks: [Action] = []
    var kept: [Action]?
    var arrivals: [Action] = []
    let taken: (requests: [VirtualDrive<Time>.Request], isStopped: Bool) = lock.withLock {
      swap(&arrivals, &inbox)
      inboxStart = nextOrder
      heapHusks += inboxHusks
      inboxHusks = 0
      if Self.isTooMany(heapHusks, of: heap.count + arrivals.count) {
        kept = Self.alive(heap.takeAll() + arrivals, husks: &husks)
        arrivals = []
        heapHusks = 0
      }
      defer { (requests, isStopped) = ([], false) }
      return (requests, isStopped)
    }
    if let kept { heap.replace(with: kept, by: isBefore) }
    if !arrivals.isEmpty { heap.insert(contentsOf: arrivals, by: isBefore) }
    return taken
  }

  /// The first that is alive, with how many keep `run` going; `nil` if there is none. Throws husks away.
  func first() -> (action: Action, awaited: Int)? {
    while let top = heap.first {
      let (isAlive, others) = lock.withLock { (top.phase == .waiting, self.awaited) }
      if isAlive { return (top, others) }
      heap.removeFirst(by: isBefore)
      lock.withLock { heapHusks -= 1 }
    }
    return nil
  }

  /// Takes `action` out, which was the first, and hands out its work; `nil` if it has been disposed since.
  func takeFirst(_ action: Action) -> Action.Work? {
    heap.removeFirst(by: isBefore)
    return lock.withLock {
      guard action.phase == .waiting else {
        heapHusks -= 1
        return nil
      }
      countLocked(action, -1)
      return action.beginLocked()
    }
  }

  private func isBefore(_ left: Action, _ right: Action) -> Bool {
    switch converter.compareVirtualTime(left.time, right.time) {
    case .lessThan: true
    case .equal: left.order < right.order
    case .greaterThan: false
    }
  }
}
