internal import CScheduler

/// A target of the C core to which actions are submitted. Their scheduler is found through it.
///
/// It lives as long as the C structure. The scheduler may be released earlier, while outstanding work still runs. Then a request for the current
/// scheduler makes a new one on the same core.
class TargetCore: @unchecked Sendable {
  // Unchecked, because a pointer is not Sendable; its target may be used from any thread. `lock` guards mutable state.
  let target: UnsafeMutablePointer<csched_target>
  /// Whether it is the main loop or has it as its base. The main loop's host must be notified of submissions.
  final let isOnMain: Bool
  /// The virtual time for delays here; `nil`: the monotonic clock counts them.
  final let timeline: Timeline?
  let lock = InlineLock()
  /// The scheduler's name, for messages.
  final let name: String
  #if DEBUG
    @exclusivity(unchecked) private final var hasRefused = false
  #endif
  @exclusivity(unchecked) private final var late = LateJobs()
  @exclusivity(unchecked) private weak var publicScheduler: (any ImmediateSchedulerType & AnyObject)?

  /// Creates the core of `target`. The target's `owner` points to it unretained.
  init(
    _ target: UnsafeMutablePointer<csched_target>, name: String = "", isOnMain: Bool = false, timeline: Timeline? = nil
  ) {
    self.target = target
    self.name = name
    self.isOnMain = isOnMain
    self.timeline = timeline
    target.pointee.owner = Unmanaged.passUnretained(self).toOpaque()
  }

  /// Whether its threads belong to the parent of this process. A submission here would stop the process.
  var isOrphaned: Bool { false }

  /// Makes a new scheduler on this core. Each kind of core overrides it.
  func makeScheduler() -> any ImmediateSchedulerType & AnyObject {
    misuse("TargetCore.makeScheduler", "each kind of core makes its own: override it")
  }

  /// Prevents the core's own thread, if it has one, from stopping while a delayed action waits. Each call needs one call of ``letGo()``.
  ///
  /// It uses a count of the core. Retaining the scheduler would cost more: weak references to it make its reference count slow (60 of 280 ns for a
  /// timer and its cancellation).
  func use() {}

  /// Ends one ``use()``.
  func letGo() {}

  /// Whether a delivery may run the job before it returns.
  var mayRunInside: Bool { false }

  /// Whether it is shared by the process, and remains after all its schedulers are released.
  var isShared: Bool { false }

  /// Whether its actions never run concurrently.
  var isExclusive: Bool { false }

  /// The lowest exclusive target below this one. Late jobs go there, and both share one isolation.
  var exclusiveRoot: TargetCore { self }

  /// Whether the caller is isolated to this target.
  var isolatesHere: Bool { csched_target_is_inside(target) }

  /// Called for each late job (a task's job that a stopped target did not run) that continues elsewhere.
  func noteLate(_ job: TaskJob) {}

  final func withLate<Result>(_ body: (inout LateJobs) -> Result) -> Result { lock.withLock { body(&late) } }

  /// Makes `scheduler` the value of ``Schedulers/current`` here, unless there is one. Returns the published scheduler.
  @discardableResult
  final func publish(_ scheduler: any ImmediateSchedulerType & AnyObject) -> any ImmediateSchedulerType & AnyObject {
    lock.withLock {
      if let publicScheduler { return publicScheduler }
      publicScheduler = scheduler
      return scheduler
    }
  }

  /// The public scheduler of this core, if it has not been released.
  final var livingScheduler: (any ImmediateSchedulerType & AnyObject)? { lock.withLock { publicScheduler } }

  /// The public scheduler of this core. Makes a new one if the first was released.
  final var scheduler: any ImmediateSchedulerType & AnyObject {
    lock.withLock { publicScheduler } ?? publish(makeScheduler())
  }

  /// Retains the core and its thread for a task that may be delayed, until ``endKeeping(_:_:)``.
  final func beginKeeping() {
    use()
    _ = Unmanaged.passRetained(self)
  }

  /// Returns the core that `job` retains.
  static func kept(by job: UnsafeMutablePointer<csched_job>?) -> TargetCore {
    Unmanaged.fromOpaque(csched_task_target_(job).pointee.owner).takeUnretainedValue()
  }

  /// The `release` callback of a job that retains a core. `size` is the job's memory.
  static func endKeeping(_ job: UnsafeMutablePointer<csched_job>?, _ size: csched_task_size) {
    let core = Unmanaged.passUnretained(kept(by: job))
    Counted.jobs(-1)
    csched_task_free_(job, size)
    core._withUnsafeGuaranteedRef { $0.letGo() }
    core.release()
  }

  // MARK: submitting

  /// Submits `work`, inside `marker` if there is one. Pass `isReported` if the caller reports a refusal itself.
  @discardableResult
  final func submit(
    _ work: @escaping @Sendable () -> Void, inside marker: TargetCore? = nil, of action: ReturningAction? = nil,
    isReported: Bool = false
  ) -> (task: ClosureTask, isAccepted: Bool) {
    let task = ClosureTask(work, for: self, inside: marker, of: action, reportsRefusal: !isReported)
    action?.task = task
    let isAccepted = task.submit(to: target)
    if !isAccepted, !isReported { noteRefusal() }
    if isOnMain { MainCore.shared.submitted() }
    return (task, isAccepted)
  }

  /// Submits internal work of the library, whose drop is not reported. In a child of `fork` the work is discarded if the thread is the parent's.
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
    tolerance: Duration = .zero, inside marker: TargetCore?, of action: ReturningAction? = nil
  ) -> ClosureTask {
    let span = csched_time(max(0, tolerance.saturatedNanoseconds))
    let task = ClosureTask(delayed: work, for: self, inside: marker, of: action)
    action?.task = task
    if !task.submit(to: target, at: deadline, on: clock, tolerance: span) { noteRefusal() }
    if isOnMain, clock == CSCHED_CLOCK_MONOTONIC, deadline <= csched_now() { MainCore.shared.submitted() }
    return task
  }

  /// Submits `work` for an instant of the core's virtual time.
  @discardableResult
  final func submit(
    _ work: @escaping @Sendable () -> Void, at instant: Timeline.Instant, inside marker: TargetCore?,
    of action: ReturningAction? = nil
  ) -> ClosureTask {
    if Sleeper.isNoted, let timeline { Sleeper.submitted(to: timeline.sleepers) }
    guard let arrive = instant.arrive else { return submit(work, at: instant.tick, inside: marker, of: action) }
    return submit(
      {
        arrive()
        work()
      }, at: instant.tick, inside: marker, of: action)
  }

  /// Submits `work` as `timing` says.
  final func submit(
    _ work: @escaping @Sendable () -> Void, _ timing: ActionTiming, inside marker: TargetCore?
  ) -> ClosureTask {
    if let repetition = timing.repetition { return submit(work, timing, repetition, inside: marker) }
    switch timing.start {
    case .after(let delay): return submit(work, after: delay, tolerance: timing.tolerance, inside: marker)
    case .at(let instant):
      guard let timeline else {
        return submit(work, at: instant.nanoseconds, tolerance: timing.tolerance, inside: marker)
      }
      return submit(work, at: timeline.instant(at: instant), inside: marker)
    case .continuous(let nanoseconds):
      return submit(work, at: nanoseconds, on: CSCHED_CLOCK_BOOT, tolerance: timing.tolerance, inside: marker)
    case .wall(let instant):
      return submit(
        work, at: instant.nanosecondsSince1970, on: CSCHED_CLOCK_WALL, tolerance: timing.tolerance, inside: marker)
    }
  }

  /// Submits `work` for `delay` from now.
  @discardableResult
  final func submit(
    _ work: @escaping @Sendable () -> Void, after delay: Duration, tolerance: Duration = .zero,
    inside marker: TargetCore?,
    of action: ReturningAction? = nil
  ) -> ClosureTask {
    guard let timeline else {
      return submit(work, at: delay.deadline, tolerance: tolerance, inside: marker, of: action)
    }
    return submit(work, at: timeline.instant(after: delay), inside: marker, of: action)
  }

  /// Submits `work` to run repeatedly.
  private func submit(
    _ work: @escaping @Sendable () -> Void, _ timing: ActionTiming, _ repetition: ActionTiming.Repetition,
    inside marker: TargetCore?
  ) -> ClosureTask {
    let (task, isAccepted) = RepeatingTask.submit(timing, repetition, to: self, inside: marker, work)
    if !isAccepted { noteRefusal() }
    if isOnMain, timing.delay(from: .now) <= .zero { MainCore.shared.submitted() }
    return task
  }

  /// Called after each refusal. A debug build prints the first one of each core, if neither the caller nor a handler of ``Schedulers/onDrop(_:)``
  /// receives it.
  final func noteRefusal() {
    #if DEBUG
      if DropObservers.areThere || csched_swift_are_refusals_reported_() { return }
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

  /// Calls `body` with the scheduler of `target` as the current one. The target must outlive the call.
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
