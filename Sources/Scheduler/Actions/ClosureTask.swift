internal import CScheduler

/// A closure that waits in a queue of the core: what cancels it, as a value. Nothing is allocated but what the closure captures.
///
/// It is a task of the core, in whose memory the closure lies (task.h has its laws). It can neither be delayed nor keep what the closure
/// returns: see ``ScheduledAction``, an object.
struct ClosureTask: Cancelable, @unchecked Sendable {
  // Unchecked, because a pointer is not Sendable; the core takes the value on any thread.
  private let task: csched_task

  /// What lies in the task's memory until it runs or is dropped.
  private struct Held: ~Copyable {
    let work: HeldClosure
    let origin: ActionOrigin

    static func of(_ job: UnsafeMutablePointer<csched_job>?) -> UnsafeMutablePointer<Held> {
      csched_task_room_(job).assumingMemoryBound(to: Held.self)
    }
  }

  /// Makes one for `core` that runs `work`, inside of `tag` if there is one. Drops of one for nobody are not told, nor is a refusal that its
  /// submitter tells of.
  init(
    _ work: @escaping @Sendable () -> Void, for core: TargetCore? = nil, inside tag: TargetCore? = nil,
    tellsOfRefusal: Bool = true
  ) {
    task = csched_task_make_(taskType.pointer)
    let origin = ActionOrigin(core, tag: tag, tellsOfRefusal: tellsOfRefusal)
    guard let job = task.job else {
      misuse("schedule", of: core?.name ?? "", "no memory for an action. Schedule fewer at a time, or dispose of some.")
    }
    Held.of(job).initialize(to: Held(work: HeldClosure(work), origin: origin))
    Counted.jobs(1)
  }

  /// Submits it to `target`, once. Returns whether it was accepted; if not, the closure has been dropped.
  @discardableResult
  func submit(to target: UnsafeMutablePointer<csched_target>) -> Bool {
    csched_task_submit_(target, task) == 0
  }

  /// The same to the thread's trampoline.
  func submitToTrampoline() { csched_trampoline_run(task.job) }

  var isDisposed: Bool { csched_task_is_cancelled_(task) }

  func dispose() { csched_task_cancel(task) }

  func disposeAndWait() {
    dispose()
    if csched_task_is_over(task) { return }
    csched_pool_blocking_begin()
    csched_task_cancel_and_wait(task)
    csched_pool_blocking_end()
  }

  // MARK: the core's side

  fileprivate static func run(_ job: UnsafeMutablePointer<csched_job>?) {
    let held = Held.of(job).move()
    if held.origin.isTagged { held.origin.run(held.work.call) } else { held.work.call() }
  }

  fileprivate static func drop(_ job: UnsafeMutablePointer<csched_job>?) {
    let reason = csched_task_drop_reason_(), held = Held.of(job).move(), origin = held.origin
    _ = consume held.work  // the captures are gone before anybody is told
    if DropReport.isAsked, reason != CSCHED_DROP_CANCELLED {
      origin.tell(reason == CSCHED_DROP_REFUSED ? .refused : .stopped)
    }
  }

  fileprivate static func release(_ job: UnsafeMutablePointer<csched_job>?) {
    Counted.jobs(-1)
    csched_task_free_(job)
  }
}

private let taskType = JobType(
  csched_job_type(run: { ClosureTask.run($0) }, drop: { ClosureTask.drop($0) }, release: { ClosureTask.release($0) }))
