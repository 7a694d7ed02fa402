internal import CScheduler

/// A target of the C core that actions are submitted to, and from which their scheduler is found again.
///
/// It lives as long as the core's structure. The scheduler may be gone earlier, while outstanding work still runs; whoever asks for the
/// current scheduler then gets a new one on the same core.
class TargetCore: @unchecked Sendable {
  // Unchecked, because a pointer is not Sendable; what it points to may be used from any thread. What changes is guarded by `lock`.
  let target: UnsafeMutablePointer<csched_target>
  /// Whether it is the main loop, whose host is told of submissions, or has it as its base.
  final let isOnMain: Bool
  /// The virtual time that delays here are counted in; `nil`: they are counted by the monotonic clock.
  final let timeline: Timeline?
  let lock = InlineLock()
  /// What the scheduler was called, for messages.
  final let name: String
  #if DEBUG
    @exclusivity(unchecked) private final var hasRefused = false
  #endif
  @exclusivity(unchecked) private final var late = LateJobs()
  @exclusivity(unchecked) private weak var publicScheduler: (any ImmediateSchedulerType & AnyObject)?

  /// Makes the core of `target`, which holds it unretained.
  init(
    _ target: UnsafeMutablePointer<csched_target>, name: String = "", isOnMain: Bool = false, timeline: Timeline? = nil
  ) {
    self.target = target
    self.name = name
    self.isOnMain = isOnMain
    self.timeline = timeline
    target.pointee.owner = Unmanaged.passUnretained(self).toOpaque()
  }

  /// Whether its threads belong to the parent of this process: what is submitted here would stop it.
  var isOrphaned: Bool { false }

  /// A new scheduler on this core; for each kind its own.
  func makeScheduler() -> any ImmediateSchedulerType & AnyObject {
    misuse("TargetCore.makeScheduler", "each kind of core makes its own: override it")
  }

  /// Keeps the core's thread, if it has one of its own, from stopping while a delayed action waits, until as many calls of ``letGo()``.
  ///
  /// A count of the core's, where there is anything to keep going. To retain the scheduler costs more: it is weakly referenced, and
  /// that makes its count a slow one (60 of 280 ns for a timer and its cancellation).
  func use() {}

  /// Takes one ``use()`` back.
  func letGo() {}

  /// Whether what is delivered may be run before the delivery returns.
  var mayRunInside: Bool { false }

  /// Whether it belongs to everybody, and stays when all of its schedulers are gone.
  var isShared: Bool { false }

  /// Whether nothing here ever runs beside anything else here.
  var isExclusive: Bool { false }

  /// The lowest one below that runs nothing beside what runs here: where its late jobs go, and whose isolation it shares.
  var exclusiveRoot: TargetCore { self }

  /// Whether the caller is isolated to what runs here.
  var isolatesHere: Bool { csched_target_is_inside(target) }

  /// Follows each late job that goes on elsewhere.
  func noteLate(_ job: TaskJob) {}

  final func withLate<Result>(_ body: (inout LateJobs) -> Result) -> Result { lock.withLock { body(&late) } }

  /// Makes `scheduler` the one that ``Schedulers/current`` finds here, unless there is one. Returns the one that is.
  @discardableResult
  final func publish(_ scheduler: any ImmediateSchedulerType & AnyObject) -> any ImmediateSchedulerType & AnyObject {
    lock.withLock {
      if let publicScheduler { return publicScheduler }
      publicScheduler = scheduler
      return scheduler
    }
  }

  /// The public scheduler of this core, if it has not been let go.
  final var livingScheduler: (any ImmediateSchedulerType & AnyObject)? { lock.withLock { publicScheduler } }

  /// The public scheduler of this core.
  final var scheduler: any ImmediateSchedulerType & AnyObject {
    lock.withLock { publicScheduler } ?? publish(makeScheduler())
  }

  /// Keeps it and its thread for a task that may be delayed, until that ends by ``endKeeping(_:_:)``.
  final func beginKeeping() {
    use()
    _ = Unmanaged.passRetained(self)
  }

  /// Which one `job` keeps.
  static func kept(by job: UnsafeMutablePointer<csched_job>?) -> TargetCore {
    Unmanaged.fromOpaque(csched_task_target_(job).pointee.owner).takeUnretainedValue()
  }

  /// The release of a job that keeps one, of which it has that much memory.
  static func endKeeping(_ job: UnsafeMutablePointer<csched_job>?, _ size: csched_task_size) {
    let core = Unmanaged.passUnretained(kept(by: job))
    Counted.jobs(-1)
    csched_task_free_(job, size)
    core._withUnsafeGuaranteedRef { $0.letGo() }
    core.release()
  }

  // MARK: submitting

  /// Submits `work`, inside of `tag` besides, if there is one. Whoever tells of a refusal by himself says so.
  @discardableResult
  final func submit(
    _ work: @escaping @Sendable () -> Void, inside tag: TargetCore? = nil, of action: ReturningAction? = nil,
    isTold: Bool = false
  ) -> (task: ClosureTask, isAccepted: Bool) {
    let task = ClosureTask(work, for: self, inside: tag, of: action, tellsOfRefusal: !isTold)
    action?.task = task
    let isAccepted = task.submit(to: target)
    if !isAccepted, !isTold { noteRefusal() }
    if isOnMain { MainCore.shared.submitted() }
    return (task, isAccepted)
  }

  /// Submits work of the library's own, whose drop concerns nobody, and is told to nobody. In a child of fork it goes where its thread has gone.
  final func submitOwn(_ work: @escaping @Sendable () -> Void) {
    guard !isOrphaned else { return }
    ClosureTask(work).submit(to: target)
    if isOnMain { MainCore.shared.submitted() }
  }

  /// Submits `work` for an instant of `clock`.
  @discardableResult
  final func submit(
    _ work: @escaping @Sendable () -> Void, at deadline: csched_time,
    on clock: csched_clock = CSCHED_CLOCK_MONOTONIC,
    tolerance: Duration = .zero, inside tag: TargetCore?, of action: ReturningAction? = nil
  ) -> ClosureTask {
    let span = csched_time(max(0, tolerance.saturatedNanoseconds))
    let task = ClosureTask(delayed: work, for: self, inside: tag, of: action)
    action?.task = task
    if !task.submit(to: target, at: deadline, on: clock, tolerance: span) { noteRefusal() }
    if isOnMain, clock == CSCHED_CLOCK_MONOTONIC, deadline <= csched_now() { MainCore.shared.submitted() }
    return task
  }

  /// Submits `work` for an instant of its virtual time.
  @discardableResult
  final func submit(
    _ work: @escaping @Sendable () -> Void, at instant: Timeline.Instant, inside tag: TargetCore?,
    of action: ReturningAction? = nil
  ) -> ClosureTask {
    if Sleeper.isNoted, let timeline { Sleeper.submitted(to: timeline.sleepers) }
    guard let arrive = instant.arrive else { return submit(work, at: instant.tick, inside: tag, of: action) }
    return submit(
      {
        arrive()
        work()
      }, at: instant.tick, inside: tag, of: action)
  }

  /// Submits `work` as `timing` says.
  final func submit(
    _ work: @escaping @Sendable () -> Void, _ timing: ActionTiming, inside tag: TargetCore?
  ) -> ClosureTask {
    if let repetition = timing.repetition { return submit(work, timing, repetition, inside: tag) }
    switch timing.start {
    case .after(let delay): return submit(work, after: delay, tolerance: timing.tolerance, inside: tag)
    case .at(let instant):
      guard let timeline else {
        return submit(work, at: instant.nanoseconds, tolerance: timing.tolerance, inside: tag)
      }
      return submit(work, at: timeline.instant(at: instant), inside: tag)
    case .continuous(let nanoseconds):
      return submit(work, at: nanoseconds, on: CSCHED_CLOCK_BOOT, tolerance: timing.tolerance, inside: tag)
    case .wall(let instant):
      return submit(
        work, at: instant.nanosecondsSince1970, on: CSCHED_CLOCK_WALL, tolerance: timing.tolerance, inside: tag)
    }
  }

  /// Submits `work` for `delay` from now.
  @discardableResult
  final func submit(
    _ work: @escaping @Sendable () -> Void, after delay: Duration, tolerance: Duration = .zero, inside tag: TargetCore?,
    of action: ReturningAction? = nil
  ) -> ClosureTask {
    guard let timeline else { return submit(work, at: delay.deadline, tolerance: tolerance, inside: tag, of: action) }
    return submit(work, at: timeline.instant(after: delay), inside: tag, of: action)
  }

  /// Submits `work` to run again and again.
  private func submit(
    _ work: @escaping @Sendable () -> Void, _ timing: ActionTiming, _ repetition: ActionTiming.Repetition,
    inside tag: TargetCore?
  ) -> ClosureTask {
    let (task, isAccepted) = RepeatingTask.submit(timing, repetition, to: self, inside: tag, work)
    if !isAccepted { noteRefusal() }
    if isOnMain, timing.delay(from: .now) <= .zero { MainCore.shared.submitted() }
    return task
  }

  /// Follows each refusal: in a debug build the first one of each core is printed, if neither the caller nor a handler of ``Schedulers/onDrop(_:)``
  /// learns of it.
  final func noteRefusal() {
    #if DEBUG
      if DropObservers.areThere || csched_swift_are_refusals_told_() { return }
      let isFirst = lock.withLock {
        defer { hasRefused = true }
        return !hasRefused
      }
      if isFirst { reportLine("\(livingScheduler.map { "\(type(of: $0))" } ?? "a scheduler")", of: name, refusal) }
    #endif
  }

  // MARK: current

  /// Calls `body` with this core's scheduler as the current one.
  final func run<Result>(_ body: () -> Result) -> Result { Self.run(body, inside: target) }

  /// The same by the target, which stays until then.
  static func run<Result>(_ body: () -> Result, inside target: UnsafeMutablePointer<csched_target>) -> Result {
    var inside = csched_target_inside()
    return withUnsafeMutablePointer(to: &inside) { inside in
      csched_target_enter(inside, target)
      defer { csched_target_leave(inside) }
      return body()
    }
  }
}

#if DEBUG
  private let refusal = """
    an action was refused, and dropped: it, or its target, has been stopped, or the system has no thread or descriptor for a clock. \
    Schedulers.onDrop reports each drop. This line is printed once per scheduler.
    """
#endif
