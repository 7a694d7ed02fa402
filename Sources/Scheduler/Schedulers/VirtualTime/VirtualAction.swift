/// A closure that waits in virtual time, and the disposable that cancels it and disposes what the closure has returned.
///
/// As with ``ScheduledAction``, a chain of actions, each of which returns the disposable of the next, stays flat: an action that
/// has run hands what it returned to the one that holds it.
// Unchecked, because the compiler does not see that all that changes is guarded by the queue's lock; but for `time` and
// `order`, which belong to the one who submits until the submission, and then to the thread that drives.
final class VirtualAction<Converter: VirtualTimeConverter>: DisposalNode, @unchecked Sendable {
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

  enum Phase {
    /// Not submitted yet.
    case idle
    /// In the queue, and alive.
    case waiting
    /// Taken out of the queue to be run.
    case running
    /// Ran for the last time, or will never run. In the queue it is a husk.
    case over
  }

  private struct Links {
    /// What the work returned, or what that has led to.
    var returned: (any Disposable)?
    /// The action that holds this one as what it returned. Only until this one is over, or the two would keep each other.
    var holder: VirtualAction?
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
  private var disposed = false
  private var work: Work?
  private var links = Links()

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

  /// Begins to run: hands out the work, a copy of it if it is to be done again. Under the lock.
  func beginLocked() -> Work? {
    phase = .running
    return isPeriodic ? work : takeWorkLocked()
  }

  /// Becomes one that will never run, and hands out its work, to be released outside of the lock. Under the lock.
  func endLocked() -> Work? {
    phase = .over
    return takeWorkLocked()
  }

  private func takeWorkLocked() -> Work? {
    if work != nil { Counted.closures(-1) }
    return work.take()
  }

  /// The same, and says from now on that it is disposed: the queue ends. Under the lock.
  func dropLocked() -> Work? {
    disposed = true
    return endLocked()
  }

  /// Whether it is not to be submitted, because it has been disposed. Becomes over then. Under the lock.
  var isCancelledLocked: Bool {
    if disposed { phase = .over }
    return disposed
  }

  /// Ends it after its last turn, and releases its work.
  func finish() {
    let work = queue.lock.withLock { endLocked() }
    _ = consume work
  }

  /// Keeps what the work returned, and leads the holder to it.
  func settle(_ returned: (any Disposable)?) {
    let (isLate, holder) = queue.lock.withLock {
      phase = .over
      if !disposed { links.returned = returned }
      return (disposed, links.holder.take())
    }
    if isLate { returned?.dispose() }
    if let holder { holder.replace(self, by: isLate ? nil : returned) } else if !isLate { hold(returned) }
  }

  /// Takes over `next` from `old`, which has run, if this one still leads to it.
  private func replace(_ old: VirtualAction, by next: (any Disposable)?) {
    let (isLate, isDone) = queue.lock.withLock {
      guard !disposed, links.returned as AnyObject? === old else { return (disposed, true) }
      links.returned = next
      return (false, false)
    }
    if isLate { next?.dispose() } else if !isDone { hold(next) }
  }

  /// Makes this one the holder of `next`; one that has run already is passed over.
  private func hold(_ next: (any Disposable)?) {
    guard let next = next as? VirtualAction else { return }
    let (isOver, further) = next.queue.lock.withLock {
      if next.phase == .over { return (true, next.links.returned) }
      next.links.holder = self
      return (false, nil)
    }
    if isOver { replace(next, by: further) }
  }

  // MARK: the user's side

  var isDisposed: Bool { queue.lock.withLock { disposed } }

  func dispose() { DisposalWalk.dispose(self) }

  func detachChildren(into walk: inout DisposalWalk) {
    var work: Work?
    var holder: VirtualAction?
    var husks: [VirtualAction] = []
    let returned: (any Disposable)? = queue.lock.withLock {
      guard !disposed else { return nil }
      disposed = true
      work = takeWorkLocked()
      if phase == .waiting { husks = queue.retireLocked(self) }
      if phase == .idle || phase == .waiting {
        phase = .over
        holder = links.holder.take()
      }
      return links.returned.take()
    }
    if let returned { walk.push(returned) }
    _ = (consume work, consume holder, consume husks)
  }
}
