internal import CScheduler

/// A job of a Swift task or actor, and the scheduler that is its executor. Queuing a job allocates nothing: its queue
/// entry is two words of the runtime's own job (Compilers/Swift6.3.swift), or a pooled `csched_task` (task.h). A job
/// that a stopped target drops is resubmitted: ``LateJobs``.
struct TaskJob: @unchecked Sendable {
  // Unchecked, because `executor` is not retained. Swift requires the submitter to retain the executor until the job
  // has run.
  /// Which executor the scheduler is for the job. `ofActor`: the executor of the job's actor. `thread` to `concurrent`:
  /// a scheduler of this kind that the job's task prefers. `ofGlobal`: Swift's own executor for tasks without a
  /// preference. `ofMainActor`: the main actor's (``GlobalJobs``).
  enum Kind: UInt8, CaseIterable { case ofActor, thread, serial, main, concurrent, ofGlobal, ofMainActor }

  let job: UnownedJob
  let executor: Unmanaged<SchedulerTarget>
  let kind: Kind

  init(_ job: UnownedJob, on scheduler: SchedulerTarget, _ kind: Kind) {
    self.init(job, on: .passUnretained(scheduler), kind)
  }

  init(_ job: UnownedJob, on executor: Unmanaged<SchedulerTarget>, _ kind: Kind) {
    self.job = job
    self.executor = executor
    self.kind = kind
  }

  /// What a `csched_task` stores of a job that is not delayed: four words.
  private struct StoredJob {
    let job: TaskJob
    /// The core that received the job. Not retained: it lives until the job has run or was dropped.
    let core: Unmanaged<TargetCore>

    /// Returns where the `csched_task` of `job` stores this value.
    static func address(_ job: UnsafeMutablePointer<csched_job>?) -> UnsafeMutablePointer<StoredJob> {
      csched_task_room_(job).assumingMemoryBound(to: StoredJob.self)
    }
  }

  /// The scheduler that the job was submitted to.
  var scheduler: SchedulerTarget { executor.takeUnretainedValue() }

  /// Submits the job to the core of its scheduler.
  func submit() { executor._withUnsafeGuaranteedRef { submit(to: $0.core) } }

  /// Submits the job to `core`. If `core` refuses or drops the job, ``TargetCore/resubmitTaskJob(_:wasRefused:)``
  /// resubmits it.
  func submit(to core: TargetCore) {
    let reference = Unmanaged.passUnretained(core), isOnMain = core.isOnMain
    Counted.jobs(1)
    // Retains the core during the call. The job may run at once on another thread, and release the last reference to
    // the scheduler, which owns the core. The shared pool's core needs no retain: it is never released.
    let needsRetain = kind != .concurrent || !core.isShared
    if needsRetain { _ = reference.retain() }
    if !submitInPlace(to: core) { submitInTask(to: core) }  // false: the words of the runtime's own job cannot be used
    if needsRetain { reference.release() }
    if isOnMain { MainCore.shared.submitted() }  // requests a run from the main loop's host
  }

  /// Submits a job of kind ``Kind/ofGlobal``, as `submit()` does, but faster: its scheduler is never released, so this
  /// call need not retain the core.
  @inline(__always) func submitGlobalJob() {
    executor._withUnsafeGuaranteedRef {
      Counted.jobs(1)
      if !submitInPlace(to: $0.core) { submitInTask(to: $0.core) }
    }
  }

  /// Submits the job inside a `csched_task`: for a core that is not the scheduler's own, or if the runtime's job has no
  /// words for a queue entry.
  private func submitInTask(to core: TargetCore) {
    let task = csched_task_make_(taskJobType.pointer, CSCHED_TASK_PLAIN)
    guard let job = task.job else { Self.stopWithoutMemory(core) }
    StoredJob.address(job).initialize(to: StoredJob(job: self, core: .passUnretained(core)))
    // `always`: a full limit accepts it, too. A refusal calls `drop`, which resubmits the job.
    csched_task_submit_always_(core.target, task)
  }

  /// Submits the job to its scheduler's core, to run at `deadline` on `clock`, or up to `tolerance` later. If the
  /// submission to a boot or wall clock is refused (the system has no timer descriptor), the job waits on the monotonic
  /// clock, which does not count system sleep.
  func submit(at deadline: csched_time, on clock: csched_clock, tolerance: Duration) {
    let core = scheduler.core, span = csched_time(max(0, tolerance.saturatedNanoseconds))  // span: the tolerance
    let task = csched_task_make_(delayedType.pointer, CSCHED_TASK_TIMED)
    guard let job = task.job else { Self.stopWithoutMemory(core) }
    Self.delayedJob(job).initialize(to: self)
    Counted.jobs(1)
    core.retainForJob()  // retains the core until the csched_task's release
    if csched_task_submit_at_clock_(core.target, task, clock, deadline, span) != 0 {
      // the target is stopped
      if clock == CSCHED_CLOCK_MONOTONIC { return core.resubmitTaskJob(self, wasRefused: true) }
      // The refused csched_task's release has undone `jobs(1)` and `retainForJob`, so this function can start again, on
      // another clock.
      let now = csched_clock_now(clock), delay = deadline > now ? deadline - now : 0
      return submit(
        at: csched_time_after(csched_now(), Int64(clamping: delay)), on: CSCHED_CLOCK_MONOTONIC, tolerance: tolerance)
    }
    if core.isOnMain { MainCore.shared.submitted(isDue: clock == CSCHED_CLOCK_MONOTONIC && deadline <= csched_now()) }
  }

  /// Returns where the `csched_task` of the delayed job `job` stores its `TaskJob`.
  private static func delayedJob(_ job: UnsafeMutablePointer<csched_job>?) -> UnsafeMutablePointer<TaskJob> {
    csched_task_timer_room_(job).assumingMemoryBound(to: TaskJob.self)
  }

  /// Stops the process with a message: the task could never continue.
  private static func stopWithoutMemory(_ core: TargetCore) -> Never {
    misuse("enqueue", of: core.name, "no memory for a job of a task. Start fewer tasks at a time.")
  }

  /// Runs the job on a thread that may be inside another core. Enters the scheduler's core first: the job must see its
  /// own scheduler as current.
  func runLate() {
    let core = scheduler.core
    core.run { runInsideMarker() }
  }

  /// Runs the job inside its scheduler's marker, if the scheduler has one. Requires: the thread is inside the
  /// scheduler's core.
  func runInsideMarker() {
    guard let marker = executor._withUnsafeGuaranteedRef({ $0.marker }) else { return resume() }
    marker.run { resume() }
  }

  /// Runs the job by Swift's runtime, with the executor that the job's kind requires.
  private func resume() {
    executor._withUnsafeGuaranteedRef { scheduler in
      switch kind {
      case .ofActor: job.runSynchronously(on: scheduler.executorOfActors!.asUnownedSerialExecutor())
      case .thread: resume(on: unsafeDowncast(scheduler, to: ThreadScheduler.self))
      case .serial: resume(on: unsafeDowncast(scheduler, to: SerialScheduler.self))
      case .main: resume(on: unsafeDowncast(scheduler, to: MainScheduler.self))
      case .concurrent: resume(on: unsafeDowncast(scheduler, to: ConcurrentScheduler.self))
      case .ofGlobal: Self.runGlobalJob(job)
      // the executor is read each time, because tests may replace it
      case .ofMainActor: job.runSynchronously(on: MainActor.sharedUnownedExecutor)
      }
    }
  }

  /// Runs a job of kind ``Kind/ofGlobal``.
  static func runGlobalJob(_ job: UnownedJob) { job.runSynchronously(on: genericExecutor) }

  private func resume(on executor: some TaskExecutor) { job.runSynchronously(on: executor.asUnownedTaskExecutor()) }

  // MARK: Callbacks of the C core

  /// Runs a job of `taskJobType`.
  fileprivate static func run(_ job: UnsafeMutablePointer<csched_job>?) {
    let held = StoredJob.address(job).move()
    let isOnOwnCore = held.job.executor._withUnsafeGuaranteedRef {
      held.core.toOpaque() == Unmanaged.passUnretained($0.core).toOpaque()
    }
    // Not on its own core: the job was resubmitted, so the thread is not inside the scheduler's core yet.
    if isOnOwnCore { held.job.runInsideMarker() } else { held.job.runLate() }
  }

  /// Called when a target refuses or drops a job of `taskJobType`. Resubmits the job.
  fileprivate static func drop(_ job: UnsafeMutablePointer<csched_job>?) {
    let wasRefused = csched_task_drop_reason_() == CSCHED_DROP_REFUSED, held = StoredJob.address(job).move()
    held.core.takeUnretainedValue().resubmitTaskJob(held.job, wasRefused: wasRefused)
  }

  /// Runs a job of `delayedType`.
  fileprivate static func runDelayed(_ job: UnsafeMutablePointer<csched_job>?) {
    delayedJob(job).move().runInsideMarker()
  }

  /// Called when a target refuses or drops a job of `delayedType`. Resubmits a dropped job.
  fileprivate static func dropDelayed(_ job: UnsafeMutablePointer<csched_job>?) {
    let wasRefused = csched_task_drop_reason_() == CSCHED_DROP_REFUSED, held = delayedJob(job).move()
    // `submit(at:)` handles a refusal itself
    if !wasRefused { held.scheduler.core.resubmitTaskJob(held, wasRefused: false) }
  }

  /// Called after each run or drop of a job of `taskJobType`.
  fileprivate static func release(_ job: UnsafeMutablePointer<csched_job>?) {
    Counted.jobs(-1)  // of the submission; a resubmission has counted the job again
    csched_task_free_(job, CSCHED_TASK_PLAIN)
  }
}

/// The C core's function table for jobs that are not delayed.
private let taskJobType = JobType(
  csched_job_type(run: { TaskJob.run($0) }, drop: { TaskJob.drop($0) }, release: { TaskJob.release($0) }))

/// The C core's function table for delayed jobs.
private let delayedType = JobType(
  csched_job_type(
    run: { TaskJob.runDelayed($0) }, drop: { TaskJob.dropDelayed($0) },
    release: { TargetCore.freeJobAndReleaseCore($0, CSCHED_TASK_TIMED) }))

/// The runtime's reference to its generic executor, two zero words: for a job without isolation whose task prefers no
/// executor.
private let genericExecutor = unsafeBitCast((0, 0), to: UnownedSerialExecutor.self)
