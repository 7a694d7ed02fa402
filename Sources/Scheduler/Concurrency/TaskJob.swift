internal import CScheduler

/// A job of a Swift task or actor, and the scheduler that is its executor. A queued job allocates nothing: its queue entry is
/// two words of the runtime's own job (Compilers/Swift6.3.swift), or a pooled `csched_task` (task.h). A job that a queue drops is resubmitted
/// elsewhere: see ``LateJobs``.
struct TaskJob: @unchecked Sendable {
  // Unchecked, because `executor` is not retained. Swift requires the submitter to retain the executor until the job has run.
  /// What the scheduler is to the job. `ofActor`: its actor's executor. `thread` to `concurrent`: the executor that its task prefers.
  /// `ofAll`, `ofMainActor`: one of Swift's own executors, for tasks without a preference and for the main actor (``GlobalJobs``).
  enum Kind: UInt8, CaseIterable { case ofActor, thread, serial, main, concurrent, ofAll, ofMainActor }

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

  /// The job as stored in a `csched_task`: four words.
  private struct StoredJob {
    let job: TaskJob
    /// The core that received the job. Not retained: it lives until the job has run or was dropped.
    let core: Unmanaged<TargetCore>

    static func of(_ job: UnsafeMutablePointer<csched_job>?) -> UnsafeMutablePointer<StoredJob> {
      csched_task_room_(job).assumingMemoryBound(to: StoredJob.self)
    }
  }

  /// The scheduler that the job was submitted to.
  var scheduler: SchedulerTarget { executor.takeUnretainedValue() }

  /// Submits the job to the core of its scheduler.
  func submit() { executor._withUnsafeGuaranteedRef { submit(to: $0.core) } }

  /// Submits the job to `core`. If `core` refuses or drops the job, ``TargetCore/takeBack(_:wasRefused:)`` resubmits it.
  func submit(to core: TargetCore) {
    let reference = Unmanaged.passUnretained(core), isOnMain = core.isOnMain
    Counted.jobs(1)
    // The job may run at once on another thread and release the last reference to the scheduler. The shared pool's core is never released.
    let needsRetain = kind != .concurrent || !core.isShared
    if needsRetain { _ = reference.retain() }
    if !submitInPlace(to: core) { submitInTask(to: core) }
    if needsRetain { reference.release() }
    if isOnMain { MainCore.shared.submitted() }  // requests a run from the main loop's host
  }

  /// As `submit()`, for a job of kind ``Kind/ofAll``. Its scheduler is never released, and so its core is not retained during the call.
  @inline(__always) func submitOfAll() {
    executor._withUnsafeGuaranteedRef {
      Counted.jobs(1)
      if !submitInPlace(to: $0.core) { submitInTask(to: $0.core) }
    }
  }

  /// Submits the job inside a `csched_task`, because the runtime's job has no spare words for a queue entry.
  private func submitInTask(to core: TargetCore) {
    let task = csched_task_make_(taskJobType.pointer, CSCHED_TASK_PLAIN)
    guard let job = task.job else { Self.stopForWantOfMemory(core) }
    StoredJob.of(job).initialize(to: StoredJob(job: self, core: .passUnretained(core)))
    csched_task_submit_(core.target, task)
  }

  /// Submits the job to its scheduler's core, to run at `deadline` on `clock`. If the system has no timer descriptor for `clock`, the job waits on
  /// the monotonic clock, which does not count system sleep.
  func submit(at deadline: csched_time, on clock: csched_clock, tolerance: Duration) {
    let core = scheduler.core, span = csched_time(max(0, tolerance.saturatedNanoseconds))
    let task = csched_task_make_(delayedType.pointer, CSCHED_TASK_TIMED)
    guard let job = task.job else { Self.stopForWantOfMemory(core) }
    Self.delayed(job).initialize(to: self)
    Counted.jobs(1)
    core.beginKeeping()  // ended by the csched_task's release
    if csched_task_submit_at_clock_(core.target, task, clock, deadline, span) != 0 {
      if clock == CSCHED_CLOCK_MONOTONIC { return core.takeBack(self, wasRefused: true) }
      // The csched_task's release has already undone `jobs(1)` and `beginKeeping`.
      let now = csched_clock_now(clock), delay = deadline > now ? deadline - now : 0
      return submit(
        at: csched_time_after(csched_now(), Int64(clamping: delay)), on: CSCHED_CLOCK_MONOTONIC, tolerance: tolerance)
    }
    if core.isOnMain, clock == CSCHED_CLOCK_MONOTONIC, deadline <= csched_now() { MainCore.shared.submitted() }
  }

  /// Returns where the `csched_task` of a delayed job stores its `TaskJob`.
  private static func delayed(_ job: UnsafeMutablePointer<csched_job>?) -> UnsafeMutablePointer<TaskJob> {
    csched_task_timer_room_(job).assumingMemoryBound(to: TaskJob.self)
  }

  private static func stopForWantOfMemory(_ core: TargetCore) -> Never {
    misuse("enqueue", of: core.name, "no memory for a job of a task. Start fewer tasks at a time.")
  }

  /// Runs the job on a thread that runs another core's work. Makes the job's scheduler the current one.
  func runLate() {
    let core = scheduler.core
    core.run { runInTag() }
  }

  /// Runs the job inside its scheduler's marker, if the scheduler has one. Requires: the thread is inside the scheduler's core.
  func runInTag() {
    guard let marker = executor._withUnsafeGuaranteedRef({ $0.marker }) else { return resume() }
    marker.run { resume() }
  }

  /// Makes Swift's runtime run the job, with the executor that the job's kind requires.
  private func resume() {
    executor._withUnsafeGuaranteedRef { scheduler in
      switch kind {
      case .ofActor: job.runSynchronously(on: scheduler.executorOfActors!.asUnownedSerialExecutor())
      case .thread: resume(on: unsafeDowncast(scheduler, to: ThreadScheduler.self))
      case .serial: resume(on: unsafeDowncast(scheduler, to: SerialScheduler.self))
      case .main: resume(on: unsafeDowncast(scheduler, to: MainScheduler.self))
      case .concurrent: resume(on: unsafeDowncast(scheduler, to: ConcurrentScheduler.self))
      case .ofAll: Self.runOfAll(job)
      case .ofMainActor: job.runSynchronously(on: MainActor.sharedUnownedExecutor)  // tests may replace it
      }
    }
  }

  static func runOfAll(_ job: UnownedJob) { job.runSynchronously(on: noExecutor) }

  private func resume(on executor: some TaskExecutor) { job.runSynchronously(on: executor.asUnownedTaskExecutor()) }

  // MARK: Callbacks of the C core

  fileprivate static func run(_ job: UnsafeMutablePointer<csched_job>?) {
    let held = StoredJob.of(job).move()
    let isOnOwnCore = held.job.executor._withUnsafeGuaranteedRef {
      held.core.toOpaque() == Unmanaged.passUnretained($0.core).toOpaque()
    }
    if isOnOwnCore { held.job.runInTag() } else { held.job.runLate() }  // else: the job was resubmitted to another core
  }

  fileprivate static func drop(_ job: UnsafeMutablePointer<csched_job>?) {
    let wasRefused = csched_task_drop_reason_() == CSCHED_DROP_REFUSED, held = StoredJob.of(job).move()
    held.core.takeUnretainedValue().takeBack(held.job, wasRefused: wasRefused)
  }

  fileprivate static func runDelayed(_ job: UnsafeMutablePointer<csched_job>?) { delayed(job).move().runInTag() }

  fileprivate static func dropDelayed(_ job: UnsafeMutablePointer<csched_job>?) {
    let wasRefused = csched_task_drop_reason_() == CSCHED_DROP_REFUSED, held = delayed(job).move()
    if !wasRefused { held.scheduler.core.takeBack(held, wasRefused: false) }  // after a refusal, submit(at:) retries
  }

  fileprivate static func release(_ job: UnsafeMutablePointer<csched_job>?) {
    Counted.jobs(-1)
    csched_task_free_(job, CSCHED_TASK_PLAIN)
  }
}

private let taskJobType = JobType(
  csched_job_type(run: { TaskJob.run($0) }, drop: { TaskJob.drop($0) }, release: { TaskJob.release($0) }))

private let delayedType = JobType(
  csched_job_type(
    run: { TaskJob.runDelayed($0) }, drop: { TaskJob.dropDelayed($0) },
    release: { TargetCore.endKeeping($0, CSCHED_TASK_TIMED) }))

/// The runtime's generic executor, which is two zero words: for a job without isolation whose task prefers no executor.
private let noExecutor = unsafeBitCast((0, 0), to: UnownedSerialExecutor.self)
