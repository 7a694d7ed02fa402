/// A scheduler's executor for actors. For tasks that prefer the scheduler, the scheduler itself is the executor.
/// Actors and tasks need separate executors, because a job does not show which of them enqueued it. A task that only
/// prefers an executor must not run isolated to that executor: the runtime would enqueue the task again at its start
/// and after each suspension, behind later jobs.
final class ActorExecutor: SerialExecutor, @unchecked Sendable {
  // Unchecked, because of the unowned reference. The reference never changes, and the scheduler owns this object.
  private unowned(unsafe) let scheduler: SchedulerTarget

  init(_ scheduler: SchedulerTarget) { self.scheduler = scheduler }

  /// Submits an actor's job to the scheduler. Swift's runtime calls this.
  func enqueue(_ job: consuming ExecutorJob) { TaskJob(UnownedJob(job), on: scheduler, .ofActor).submit() }

  // complexEquality: the runtime compares two executors by `isSameExclusiveExecutionContext`.
  func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(complexEquality: self) }
  func isSameExclusiveExecutionContext(other: ActorExecutor) -> Bool {
    scheduler.core.exclusiveRoot === other.scheduler.core.exclusiveRoot
  }

  func checkIsolated() { scheduler.requireIsolated() }
  func isIsolatingCurrentContext() -> Bool? { scheduler.core.isCallerIsolated }
}

extension SchedulerTarget {
  /// Stops the process with a message unless the caller is isolated to this scheduler.
  func requireIsolated() {
    if core.isCallerIsolated { return }
    misuse(
      "\(type(of: self)).checkIsolated", of: core.name,
      "called outside of the scheduler. Call what is isolated to it in one of its actions, or await it.")
  }
}
