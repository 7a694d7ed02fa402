internal import CScheduler

/// A closure that waits in virtual time, and the disposable that cancels it and disposes what the closure has returned.
// Unchecked, because the compiler does not see that all that changes is guarded by the queue's lock; but for `time` and
// `order`, which belong to the one who submits until the submission, and then to the thread that drives.
final class VirtualAction<Converter: VirtualTimeConverter>: ChainedAction, @unchecked Sendable {
  typealias Time = Converter.VirtualTimeUnit
  typealias Interval = Converter.VirtualTimeIntervalUnit

  enum Work {
    case once(@Sendable () -> Void)
    case disposing(@Sendable () -> any Disposable)
    case periodic(@Sendable () -> Void, Interval)
    /// What wakes a task that sleeps.
    case waking(@Sendable () -> Void)

    var isPeriodic: Bool { if case .periodic = self { true } else { false } }
    var isWaking: Bool { if case .waking = self { true } else { false } }
  }

  /// What an action that is over lets go of: outside of the lock, because user code may end with it.
  struct Remains {
    var work: Work?
    var holder: VirtualAction?
  }

  enum Phase {
    /// Not submitted yet.
    case idle
    /// In the queue, and alive.
    case waiting
    /// Taken out of the queue to be run, or a husk in it.
    case out
  }

  private let counted = CountedDisposable()
  let queue: VirtualQueue<Converter>
  let isPeriodic: Bool
  let isWaking: Bool
  var time: Time
  var order: UInt64 = 0
  /// Whether `run` goes on for its sake: neither periodic nor at the end of time.
  var isAwaited = false
  var phase = Phase.idle
  /// The thread that runs it, or releases what it holds; 0: none.
  private var busy: UInt = 0
  private var disposed = false
  private var isOver = false
  private var work: Work?
  private var links = ActionLinks<VirtualAction>()

  init(_ work: consuming Work, at time: Time, in queue: VirtualQueue<Converter>) {
    isPeriodic = work.isPeriodic
    isWaking = work.isWaking
    self.work = work
    Counted.closures(1)
    self.time = time
    self.queue = queue
  }

  deinit {
    if work != nil { Counted.closures(-1) }
    guard links.returned != nil else { return }
    DisposalWalk.release { walk in
      if let returned = links.returned.take() { walk.push(returned) }
    }
  }

  // MARK: the queue's side

  /// Begins to run: hands out a copy of the work; ``leave()`` lets go of what will not be done again. Under the lock.
  func beginLocked() -> Work? {
    phase = .out
    busy = csched_swift_thread_()
    return work
  }

  /// Becomes one that will never run again. Under the lock.
  func endLocked() -> Remains {
    phase = .out
    return Remains(work: takeWorkLocked(), holder: links.end())
  }

  private func takeWorkLocked() -> Work? {
    if work != nil { Counted.closures(-1) }
    return work.take()
  }

  /// The same as `endLocked`, and says from now on that it is disposed: the queue ends. Under the lock.
  func dropLocked() -> Remains {
    disposed = true
    busy = csched_swift_thread_()
    return endLocked()
  }

  /// Follows a turn, or the release of what it held: lets go of what is left of one that is over, and wakes who waits for that.
  func leave() {
    while true {
      let (remains, isAwaited) = queue.lock.withLock { () -> (Remains?, Bool) in
        if phase == .out, work != nil { return (endLocked(), false) }
        busy = 0
        if phase == .out { isOver = true }
        return (nil, queue.takeAwaitedLocked())
      }
      if remains == nil { return isAwaited ? queue.ends.happen() : () }
    }
  }

  /// Whether it is not to be submitted, because it has been disposed. Under the lock.
  var isDisposedLocked: Bool { disposed }

  /// Ends it after its last turn.
  func finish() {
    let remains = queue.lock.withLock { endLocked() }
    _ = consume remains
  }

  func withLinks<Result>(_ body: (inout ActionLinks<VirtualAction>, Bool) -> Result) -> Result {
    queue.lock.withLock { body(&links, disposed) }
  }

  // MARK: the user's side

  var isDisposed: Bool { queue.lock.withLock { disposed || isOver } }

  func dispose() { DisposalWalk.dispose(self) }

  func detachChildren(into walk: inout DisposalWalk) {
    var remains: Remains?
    var husks: [VirtualAction] = []
    let returned = queue.lock.withLock {
      disposed = true
      if phase == .waiting { husks = queue.retireLocked(self) }
      if busy == 0 {  // else whoever is busy with it lets go of what it holds
        remains = endLocked()
        busy = csched_swift_thread_()
      }
      return links.returned.take()
    }
    if let returned { walk.push(returned) }
    let isBusy = remains != nil
    _ = (consume remains, consume husks)
    if isBusy { leave() }
  }

  func awaitEnd() {
    while let mark = markOfAnother() { queue.ends.wait(since: mark) }
  }

  /// A mark to wait from, if another thread is busy with it.
  private func markOfAnother() -> UInt32? {
    queue.lock.withLock { busy == 0 || busy == csched_swift_thread_() ? nil : queue.announceWaitLocked() }
  }
}
