internal import CScheduler

/// A closure that runs repeatedly in one csched_task. Each run resubmits the task for the next tick (task.c, TK6).
struct RepeatingTask: ~Copyable {
  private let held: ClosureTask.Held
  private let repetition: ActionTiming.Repetition
  private var due: csched_time  // when the current tick was due, or the next tick is due
  /// In virtual time, `.max` after the first tick: the clock's `run` waits for the first tick, and not for later ones.
  private var tolerance: csched_time

  /// Submits a repeating task to `core`. The closure runs inside the scheduler marker `marker` if there is one. Returns the task's token, and whether
  /// `core` accepted the task.
  static func submit(
    _ timing: ActionTiming, _ repetition: ActionTiming.Repetition, to core: TargetCore, inside marker: TargetCore?,
    _ work: @escaping @Sendable () -> Void
  ) -> (ClosureTask, isAccepted: Bool) {
    let task = csched_task.made(repeatingType, CSCHED_TASK_REPEATING, for: core)
    let due = firstDue(timing, on: core.timeline)
    let tolerance = csched_time(max(0, timing.tolerance.saturatedNanoseconds))
    of(task.job).initialize(
      to: RepeatingTask(
        held: ClosureTask.Held(work, ActionOrigin(core, marker: marker)), repetition: repetition, due: due,
        tolerance: tolerance))
    ClosureTask.Held.tell(task.job, UnsafeMutableRawPointer(of(task.job)))
    core.beginKeeping()  // retained until repeatingType.release
    let token = ClosureTask(task)
    let first = core.timeline == nil ? repetition.jittered(due, of: task.job) : due
    return (token, token.submit(to: core.target, at: first, on: CSCHED_CLOCK_MONOTONIC, tolerance: tolerance))
  }

  /// Returns when the first tick is due: a tick of `timeline` in virtual time, else an instant of the monotonic clock.
  private static func firstDue(_ timing: ActionTiming, on timeline: Timeline?) -> csched_time {
    if case .at(let due) = timing.start { return timeline?.instant(at: due).tick ?? due.nanoseconds }
    let delay = timing.delay(from: .now)
    return timeline?.instant(after: delay).tick ?? delay.deadline
  }

  /// Returns the content of the task's memory.
  fileprivate static func of(_ job: UnsafeMutablePointer<csched_job>?) -> UnsafeMutablePointer<RepeatingTask> {
    csched_task_timer_room_(job).assumingMemoryBound(to: RepeatingTask.self)
  }

  /// Runs the closure, and resubmits the task for the next tick. Destroys the content if the task is over.
  fileprivate static func tick(_ job: UnsafeMutablePointer<csched_job>) {
    let each = of(job), core = TargetCore.kept(by: job)
    let begun = core.timeline?.tick ?? csched_now()
    if !csched_task_is_unwanted_(job) { each.pointee.held.call() }
    guard !csched_task_is_unwanted_(job), let due = each.pointee.next(on: core, begunAt: begun) else {
      each.deinitialize(count: 1)
      return
    }
    let next = core.timeline == nil ? each.pointee.repetition.jittered(due, of: job) : due
    let error = csched_task_submit_again_(job, next, each.pointee.tolerance)
    // UNWANTED_: the task was cancelled during the tick, and its content remains. On any other error the scheduler was stopped: the core has
    // dropped the task, which destroyed the content.
    if error == CSCHED_TASK_UNWANTED_ { each.deinitialize(count: 1) }
  }

  /// Advances `due` to the next tick and returns it. Returns nil if there is no next tick.
  private mutating func next(on core: TargetCore, begunAt begun: csched_time) -> csched_time? {
    if let timeline = core.timeline {
      tolerance = .max
      guard let next = timeline.next(repetition, after: due, begunAt: begun) else { return nil }
      due = next
      return next
    }
    let now = csched_now()
    guard let next = repetition.next(after: due, begunAt: begun, endedAt: now, step: repetition.step)
    else { return nil }
    // An overdue tick is delivered at once. If the core might run it nested in this tick, a delay of 20 µs prevents that.
    due = core.mayRunInside ? max(next, csched_time_after(now, 20_000)) : next
    return due
  }

  /// Drops the closure, because the core drops the task.
  fileprivate consuming func drop() { held.drop(csched_task_drop_reason_(), of: nil) }
}

private let repeatingType = JobType(
  csched_job_type(
    run: { RepeatingTask.tick($0!) },
    drop: { RepeatingTask.of($0).move().drop() },
    release: { TargetCore.endKeeping($0, CSCHED_TASK_REPEATING) }), closureAt: MemoryLayout<csched_timer>.size)
