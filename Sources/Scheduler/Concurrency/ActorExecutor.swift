/// A scheduler's executor for actors. For tasks that prefer the scheduler, the scheduler itself is the executor.
/// A job does not show whether an actor or a task enqueued it, so actors and tasks need separate executors. A task that only prefers an executor must
/// not run isolated to it: the runtime would enqueue the task again at its start and after each suspension, behind later jobs.
final class ActorExecutor: SerialExecutor, @unchecked Sendable {
  // Unchecked, because of the unowned reference. It never changes, and the scheduler owns this object.
  private unowned(unsafe) let scheduler: SchedulerTarget

  init(_ scheduler: SchedulerTarget) { self.scheduler = scheduler }

  func enqueue(_ job: consuming ExecutorJob) { TaskJob(UnownedJob(job), on: scheduler, .ofActor).submit() }

  func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(complexEquality: self) }

  func isSameExclusiveExecutionContext(other: ActorExecutor) -> Bool {
    scheduler.core.exclusiveRoot === other.scheduler.core.exclusiveRoot
  }

  func checkIsolated() { scheduler.requireIsolated() }

  func isIsolatingCurrentContext() -> Bool? { scheduler.core.isolatesHere }
}

extension SchedulerTarget {
  func requireIsolated() {
    if core.isolatesHere { return }
    misuse(
      "\(type(of: self)).checkIsolated", of: core.name,
      "called outside of the scheduler. Call what is isolated to it in one of its actions, or await it.")
  }
}
