internal import CScheduler

/// The Swift owner of a target of the C core, to which schedulers submit their actions. `Schedulers.current` uses it to find the scheduler.
/// A core lives as long as its C structure. Its scheduler may be released earlier, while outstanding work still runs. If that work reads
/// `Schedulers.current`, the core makes a new scheduler.
class TargetCore: @unchecked Sendable {
  // Unchecked, because of `target`, which any thread may use. `lock` guards mutable state.
  let target: UnsafeMutablePointer<csched_target>
  /// Whether this target is the main loop or a queue on the main loop. The main loop's host must be notified of submissions.
  final let isOnMain: Bool
  /// The virtual time of this target; `nil`: delays use the monotonic clock.
  final let timeline: Timeline?
  let lock = InlineLock()
  /// The scheduler's name, for messages.
  final let name: String
  #if DEBUG
    @exclusivity(unchecked) private final var hasRefused = false  // a line was printed: see `noteRefusal`
  #endif
  @exclusivity(unchecked) private final var late = LateJobs()  // of a stopped target
  @exclusivity(unchecked) private weak var publicScheduler: (any ImmediateSchedulerType & AnyObject)?

  /// Creates the core of `target`, whose `owner` then points to the core unretained.
  init(
    _ target: UnsafeMutablePointer<csched_target>, name: String = "", isOnMain: Bool = false, timeline: Timeline? = nil
  ) {
    self.target = target
    self.name = name
    self.isOnMain = isOnMain
    self.timeline = timeline
    target.pointee.owner = Unmanaged.passUnretained(self).toOpaque()
  }

  /// Whether this process is a fork child without the core's threads. A submission then stops the process.
  var isOrphaned: Bool { false }

  /// Makes a new scheduler on this core. Each kind of core overrides it.
  func makeScheduler() -> any ImmediateSchedulerType & AnyObject {
    misuse("TargetCore.makeScheduler", "each kind of core makes its own: override it")
  }

  /// Counts one user of the core: a scheduler, or a delayed action that waits. A ``ThreadCore`` stops its thread at zero. Each call must be ended by
  /// ``letGo()``. A delayed action does not retain the scheduler, because weak references make the scheduler's reference count slow (60 of 280 ns
  /// for a timer and its cancellation).
  func use() {}

  /// Ends one ``use()``.
  func letGo() {}

  /// Whether a submission may run the job before it returns.
  var mayRunInside: Bool { false }

  /// Whether the whole process shares this core, so that it outlives its schedulers.
  var isShared: Bool { false }

  /// Whether actions of this target never run concurrently.
  var isExclusive: Bool { false }

  /// The final exclusive target in the chain of bases that starts here. Late jobs of this target run there, and both targets share one isolation.
  var exclusiveRoot: TargetCore { self }

  /// Whether the caller is isolated to this target.
  var isolatesHere: Bool { csched_target_is_inside(target) }

  /// Called before each late job (a task's job that a stopped target did not run) is submitted to the late queue.
  func noteLate(_ job: TaskJob) {}

  /// Calls `body` with the late jobs, under the lock.
  final func withLate<Result>(_ body: (inout LateJobs) -> Result) -> Result { lock.withLock { body(&late) } }

  /// Makes `scheduler` the scheduler that ``Schedulers/current`` returns for this core, unless there is one. Returns the public scheduler.
  @discardableResult
  final func publish(_ scheduler: any ImmediateSchedulerType & AnyObject) -> any ImmediateSchedulerType & AnyObject {
    lock.withLock {
      if let publicScheduler { return publicScheduler }
      publicScheduler = scheduler
      return scheduler
    }
  }

  /// The public scheduler of this core; nil if it was released.
  final var livingScheduler: (any ImmediateSchedulerType & AnyObject)? { lock.withLock { publicScheduler } }

  /// The public scheduler of this core. Makes a new one if the previous one was released.
  final var scheduler: any ImmediateSchedulerType & AnyObject {
    lock.withLock { publicScheduler } ?? publish(makeScheduler())
  }

  /// Retains the core and counts a user, for a `csched_task` that may wait, until ``endKeeping(_:_:)``.
  final func beginKeeping() {
    use()
    _ = Unmanaged.passRetained(self)
  }

  /// Returns the core that `job` retains by ``beginKeeping()``.
  static func kept(by job: UnsafeMutablePointer<csched_job>?) -> TargetCore {
    Unmanaged.fromOpaque(csched_task_target_(job).pointee.owner).takeUnretainedValue()
  }

  /// The `release` callback of a job that retains a core. `size`: the size class of the csched_task's memory.
  static func endKeeping(_ job: UnsafeMutablePointer<csched_job>?, _ size: csched_task_size) {
    let core = Unmanaged.passUnretained(kept(by: job))
    Counted.jobs(-1)
    csched_task_free_(job, size)
    core._withUnsafeGuaranteedRef { $0.letGo() }
    core.release()
  }

  // MARK: submitting

  /// Submits `work`, which runs inside `marker` if there is one. Pass `isReported` if the caller reports a refusal itself.
  @discardableResult
  final func submit(
    _ work: @escaping @Sendable () -> Void, inside marker: TargetCore? = nil, of action: ReturningAction? = nil,
    isReported: Bool = false
  ) -> (task: ClosureTask, isAccepted: Bool) {
    let task = ClosureTask(work, for: self, inside: marker, of: action, reportsRefusal: !isReported)
    action?.task = task
    let isAccepted = task.submit(to: target)
    if !isAccepted, !isReported { noteRefusal() }
    if isOnMain { MainCore.shared.submitted() }  // requests a run from the main loop's host
    return (task, isAccepted)
  }

  /// Submits internal work of the library, whose drop is not reported. Does nothing if the core is orphaned by a fork.
  final func submitOwn(_ work: @escaping @Sendable () -> Void) {
    guard !isOrphaned else { return }
    ClosureTask(work).submit(to: target)
    if isOnMain { MainCore.shared.submitted() }
  }

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

  /// Submits `work`, to run at an instant of the core's virtual time.
  @discardableResult
  final func submit(
    _ work: @escaping @Sendable () -> Void, at instant: Timeline.Instant, inside marker: TargetCore?,
    of action: ReturningAction? = nil
  ) -> ClosureTask {
    // `work` wakes a task: records in which virtual time the task sleeps.
    if Sleeper.isNoted, let timeline { Sleeper.submitted(to: timeline.sleepers) }
    guard let arrive = instant.arrive else { return submit(work, at: instant.tick, inside: marker, of: action) }
    return submit(
      {
        arrive()
        work()
      }, at: instant.tick, inside: marker, of: action)
  }

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

  private func submit(
    _ work: @escaping @Sendable () -> Void, _ timing: ActionTiming, _ repetition: ActionTiming.Repetition,
    inside marker: TargetCore?
  ) -> ClosureTask {
    let (task, isAccepted) = RepeatingTask.submit(timing, repetition, to: self, inside: marker, work)
    if !isAccepted { noteRefusal() }
    if isOnMain, timing.delay(from: .now) <= .zero { MainCore.shared.submitted() }
    return task
  }

  /// Called after each refusal. A debug build prints one line for the first refusal of each core, unless the caller or a handler of
  /// ``Schedulers/onDrop(_:)`` reports the refusal.
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

  /// Calls `body` with the scheduler of `target` as the current one. Requires: the target outlives the call.
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
