internal import CScheduler

/// A closure that runs repeatedly in one csched_task, whose memory stores this struct. Each tick resubmits the task for
/// the next tick (task.c, TK6).
struct RepeatingTask: ~Copyable {
  private let held: ClosureTask.Held  // the closure; first field: see `recordCode`
  private let repetition: ActionTiming.Repetition
  private var due: csched_time  // when the current tick was due; between ticks: when the next tick is due
  /// The timer's tolerance. In virtual time it is `.max` after the first tick: the clock's `run` then does not continue
  /// for the sake of this task. Otherwise `run` would never return.
  private var tolerance: csched_time

  /// Submits a repeating task to `core`. The closure runs inside the scheduler marker `marker` if there is one. Returns
  /// the task's token, and whether `core` accepted the task.
  static func submit(
    _ timing: ActionTiming, _ repetition: ActionTiming.Repetition, to core: TargetCore, inside marker: TargetCore?,
    _ work: @escaping @Sendable () -> Void
  ) -> (ClosureTask, isAccepted: Bool) {
    let task = csched_task.made(repeatingType, CSCHED_TASK_REPEATING, for: core)
    let due = firstDue(timing, on: core.timeline)
    // `csched_time` is unsigned: a negative tolerance counts as 0
    let tolerance = csched_time(max(0, timing.tolerance.saturatedNanoseconds))
    contentOf(task.job).initialize(
      to: RepeatingTask(
        held: ClosureTask.Held(work, ActionOrigin(core, marker: marker)), repetition: repetition, due: due,
        tolerance: tolerance))
    ClosureTask.Held.recordCode(task.job, UnsafeMutableRawPointer(contentOf(task.job)))  // for the event recorder
    core.retainForJob()  // retains `core` until repeatingType.release
    let token = ClosureTask(task)
    // virtual time has no jitter
    let first = core.timeline == nil ? repetition.jittered(due, of: task.job) : due
    return (token, token.submit(to: core.target, at: first, on: CSCHED_CLOCK_MONOTONIC, tolerance: tolerance))
  }

  /// Returns when the first tick is due: a tick of `timeline` in virtual time, else an instant of the monotonic clock.
  private static func firstDue(_ timing: ActionTiming, on timeline: Timeline?) -> csched_time {
    if case .at(let due) = timing.start { return timeline?.instant(at: due).tick ?? due.nanoseconds }
    let delay = timing.delay(from: .now)
    return timeline?.instant(after: delay).tick ?? delay.deadline
  }

  /// Returns the address of the RepeatingTask in the memory of `job`.
  fileprivate static func contentOf(_ job: UnsafeMutablePointer<csched_job>?) -> UnsafeMutablePointer<RepeatingTask> {
    csched_task_timer_room_(job).assumingMemoryBound(to: RepeatingTask.self)
  }

  /// Runs the closure, unless the task was cancelled, and resubmits the task for the next tick. If there is none,
  /// destroys the content of the memory.
  fileprivate static func tick(_ job: UnsafeMutablePointer<csched_job>) {
    let content = contentOf(job), core = TargetCore.kept(by: job)
    // before the closure runs: some paces count from the start of a tick
    let begun = core.timeline?.tick ?? csched_now()
    // TK6: may start before its submitter has seen a cancel
    if !csched_task_is_unwanted_(job) { content.pointee.held.call() }
    guard !csched_task_is_unwanted_(job), let due = content.pointee.next(on: core, begunAt: begun) else {
      content.deinitialize(count: 1)
      return
    }
    let next = core.timeline == nil ? content.pointee.repetition.jittered(due, of: job) : due
    let error = csched_task_submit_again_(job, next, content.pointee.tolerance)
    // UNWANTED_: the task was cancelled during the tick, so this function destroys the content. On any other error the
    // scheduler was stopped: the core has dropped the task, and `drop` has destroyed the content.
    if error == CSCHED_TASK_UNWANTED_ { content.deinitialize(count: 1) }
  }

  /// Advances `due` to the next tick and returns it. Returns nil if there is no next tick.
  private mutating func next(on core: TargetCore, begunAt begun: csched_time) -> csched_time? {
    if let timeline = core.timeline {
      tolerance = .max  // the first tick has run: see the field
      guard let next = timeline.next(repetition, after: due, begunAt: begun) else { return nil }
      due = next
      return next
    }
    let now = csched_now()
    guard let next = repetition.next(after: due, begunAt: begun, endedAt: now, step: repetition.step)
    else { return nil }
    // A core with `mayRunInSubmission` may run a due tick inside its submission, and so inside this tick. A delay of 20
    // µs prevents that.
    due = core.mayRunInSubmission ? max(next, csched_time_after(now, 20_000)) : next
    return due
  }

  /// Drops the closure, because the core drops the task. The drop observers are notified.
  fileprivate consuming func drop() { held.drop(csched_task_drop_reason_(), of: nil) }
}

private let repeatingType = JobType(
  csched_job_type(
    run: { RepeatingTask.tick($0!) },
    drop: { RepeatingTask.contentOf($0).move().drop() },
    release: { TargetCore.freeJobAndReleaseCore($0, CSCHED_TASK_REPEATING) }),
  closureAt: MemoryLayout<csched_timer>.size)
