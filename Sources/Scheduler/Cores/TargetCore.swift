internal import CScheduler

/// The Swift owner of a target of the C core, to which schedulers submit their actions. `Schedulers.current` uses it to
/// find the scheduler.
/// A core lives as long as its C structure. Its scheduler may be released earlier, while outstanding work still runs.
/// If that work reads `Schedulers.current`, the core makes a new scheduler.
class TargetCore: @unchecked Sendable {
  // Unchecked, because of `target`, which any thread may use. `lock` guards the mutable fields, also those of
  // subclasses.
  let target: UnsafeMutablePointer<csched_target>
  /// Whether this target is the main loop or a queue on the main loop. The main loop's host must be notified of
  /// submissions.
  final let isOnMain: Bool
  /// The virtual time of this target; `nil`: delays use the monotonic clock.
  final let timeline: Timeline?
  let lock = InlineLock()
  /// The scheduler's name, for messages.
  final let name: String
  #if DEBUG
    @exclusivity(unchecked) private final var hasRefused = false  // a line was printed: see `noteRefusal`
  #endif
  // jobs of Swift tasks that this target refused or dropped
  @exclusivity(unchecked) private final var late = LateJobs()
  @exclusivity(unchecked) private weak var publicScheduler: (any ImmediateSchedulerType & AnyObject)?  // see `publish`

  /// Creates the core of `target`, and makes it the `owner` of `target`, unretained.
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

  /// Counts one user of the core: a scheduler, or a delayed action that waits. A ``ThreadCore`` stops its thread at
  /// zero. Each call must be ended by ``endUse()``. A delayed action does not retain the scheduler, because weak
  /// references make the scheduler's reference count slow (60 of 280 ns for a timer and its cancellation).
  func use() {}

  /// Ends one ``use()``. A core without a count of users does nothing.
  func endUse() {}

  /// Whether a submission may run the job before it returns, inside the submitting thread's current work.
  var mayRunInSubmission: Bool { false }

  /// Whether this target refuses actions if too many wait.
  var isBounded: Bool { false }

  /// Whether the whole process shares this core, so that it outlives its schedulers.
  var isShared: Bool { false }

  /// Whether actions of this target never run concurrently.
  var isExclusive: Bool { false }

  /// The last exclusive target in the chain of bases that starts here. Late jobs of this target run there, and both
  /// targets share one isolation.
  var exclusiveRoot: TargetCore { self }

  /// Whether this thread is inside work of this target, so that code isolated to the target may run here.
  var isCallerIsolated: Bool { csched_target_is_inside(target) }

  /// Called before each late job (a task's job that a stopped target did not run) is submitted to the pool. A
  /// ``ThreadCore`` reports it.
  func noteLateJob(_ job: TaskJob) {}

  /// Calls `body` with the late jobs, under the lock.
  final func withLateJobs<Result>(_ body: (inout LateJobs) -> Result) -> Result { lock.withLock { body(&late) } }

  /// Makes `scheduler` the public scheduler, which ``Schedulers/current`` returns for this core, unless there is one.
  /// Returns the public scheduler.
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

  /// The public scheduler of this core. Makes a new one, outside the lock, if the previous one was released.
  final var scheduler: any ImmediateSchedulerType & AnyObject {
    lock.withLock { publicScheduler } ?? publish(makeScheduler())
  }

  /// Called for a `csched_task` that may wait for its time. Retains the core and counts a user;
  /// ``freeJobAndReleaseCore(_:_:)`` ends both.
  final func retainForJob() {
    use()
    _ = Unmanaged.passRetained(self)
  }

  /// Returns the core that `job` retains by ``retainForJob()``.
  static func kept(by job: UnsafeMutablePointer<csched_job>?) -> TargetCore {
    Unmanaged.fromOpaque(csched_task_target_(job).pointee.owner).takeUnretainedValue()
  }

  /// The `release` callback of a job for which ``retainForJob()`` was called: frees the job and releases the core.
  /// `size`: the size class of the csched_task's memory.
  static func freeJobAndReleaseCore(_ job: UnsafeMutablePointer<csched_job>?, _ size: csched_task_size) {
    let core = Unmanaged.passUnretained(kept(by: job))  // read before `job` is freed
    Counted.jobs(-1)
    csched_task_free_(job, size)
    core._withUnsafeGuaranteedRef { $0.endUse() }  // before the release, which may free the core
    core.release()
  }

  // MARK: submitting

  /// Submits `work`, which runs inside the scheduler marker `marker` if there is one. `chain`: owns the task if the
  /// user's closure returns a disposable. `callerReportsRefusal`: the caller reports a refusal itself; otherwise a
  /// debug build prints a line. `isAccepted`: false after a refusal.
  @discardableResult
  final func submit(
    _ work: @escaping @Sendable () -> Void, inside marker: TargetCore? = nil, of chain: ReturningAction? = nil,
    callerReportsRefusal: Bool = false
  ) -> (task: ClosureTask, isAccepted: Bool) {
    let task = ClosureTask(work, for: self, inside: marker, of: chain, callerReportsRefusal: callerReportsRefusal)
    chain?.task = task  // before the submission, in which `work` may run
    let isAccepted = task.submit(to: target)
    if !isAccepted, !callerReportsRefusal { noteRefusal() }
    if isOnMain { MainCore.shared.submitted() }  // requests a run from the main loop's host
    return (task, isAccepted)
  }

  /// Submits internal work of the library, whose drop is not reported. Does nothing in a child of fork that lacks the
  /// core's threads.
  final func submitInternal(_ work: @escaping @Sendable () -> Void) {
    guard !isOrphaned else { return }
    ClosureTask(work).submit(to: target)
    if isOnMain { MainCore.shared.submitted() }  // requests a run from the main loop's host
  }

  /// Submits `work`, to run at `deadline` on `clock`, or up to `tolerance` later. `marker` and `chain`: as for an
  /// action without a delay.
  @discardableResult
  final func submit(
    _ work: @escaping @Sendable () -> Void, at deadline: csched_time,
    on clock: csched_clock = CSCHED_CLOCK_MONOTONIC,
    tolerance: Duration = .zero, inside marker: TargetCore?, of chain: ReturningAction? = nil
  ) -> ClosureTask {
    let span = csched_time(max(0, tolerance.saturatedNanoseconds))  // the tolerance in nanoseconds
    let task = ClosureTask(delayed: work, for: self, inside: marker, of: chain)
    chain?.task = task  // before the submission, in which `work` may run
    if !task.submit(to: target, at: deadline, on: clock, tolerance: span) { noteRefusal() }
    if isOnMain { MainCore.shared.submitted(isDue: clock == CSCHED_CLOCK_MONOTONIC && deadline <= csched_now()) }
    return task
  }

  /// Submits `work`, to run at `instant` of the core's virtual time. `instant.arrive`, if not nil, is called just
  /// before `work`.
  @discardableResult
  final func submit(
    _ work: @escaping @Sendable () -> Void, at instant: Timeline.Instant, inside marker: TargetCore?,
    of chain: ReturningAction? = nil
  ) -> ClosureTask {
    // if this thread submits for a sleeping task, which `work` wakes: records in which virtual time the task sleeps
    if Sleeper.isSubmittingWaker, let timeline { Sleeper.submitted(to: timeline.sleepers) }
    guard let arrive = instant.arrive else { return submit(work, at: instant.tick, inside: marker, of: chain) }
    return submit(
      {
        arrive()
        work()
      }, at: instant.tick, inside: marker, of: chain)
  }

  /// Submits `work`, to run when `timing` says, once or repeatedly.
  final func submit(
    _ work: @escaping @Sendable () -> Void, _ timing: ActionTiming, inside marker: TargetCore?
  ) -> ClosureTask {
    if let repetition = timing.repetition { return submit(work, timing, repetition, inside: marker) }
    switch timing.start {  // each case: another clock
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

  /// Submits `work`, to run `delay` from now, in virtual time or on the monotonic clock.
  @discardableResult
  final func submit(
    _ work: @escaping @Sendable () -> Void, after delay: Duration, tolerance: Duration = .zero,
    inside marker: TargetCore?,
    of chain: ReturningAction? = nil
  ) -> ClosureTask {
    guard let timeline else {
      return submit(work, at: delay.deadline, tolerance: tolerance, inside: marker, of: chain)
    }
    return submit(work, at: timeline.instant(after: delay), inside: marker, of: chain)
  }

  /// Submits `work`, to run repeatedly: first at the start of `timing`, then by `repetition`.
  private func submit(
    _ work: @escaping @Sendable () -> Void, _ timing: ActionTiming, _ repetition: ActionTiming.Repetition,
    inside marker: TargetCore?
  ) -> ClosureTask {
    let (task, isAccepted) = RepeatingTask.submit(timing, repetition, to: self, inside: marker, work)
    if !isAccepted { noteRefusal() }
    if isOnMain { MainCore.shared.submitted(isDue: timing.delay(from: .now) <= .zero) }
    return task
  }

  /// Called after each refusal. A debug build prints one line for the first refusal of each core, unless the caller or
  /// a handler of ``Schedulers/onDrop(_:)`` reports the refusal.
  final func noteRefusal() {
    #if DEBUG
      // a handler of `onDrop`, or the caller, reports the refusal
      if DropObservers.areRegistered || csched_swift_are_refusals_silenced_() { return }
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
    var inside = csched_target_inside()  // a record on this stack, which the C core uses until the leave
    return withUnsafeMutablePointer(to: &inside) { inside in
      csched_target_enter(inside, target)
      defer { csched_target_leave(inside) }
      return body()
    }
  }
}

#if DEBUG
  private let refusal = """
    an action was refused, and dropped: it, or its target, has been stopped, or is full, or the system has no thread or descriptor for a clock. \
    Schedulers.onDrop reports each drop. This line is printed once per scheduler.
    """
#endif
