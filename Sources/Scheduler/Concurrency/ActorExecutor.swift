/// A scheduler as the executor of actors. The scheduler itself is the executor that tasks prefer.
///
/// A job does not say as which it comes, and the runtime must be told as which it runs: a task that prefers an executor, but is run as if
/// isolated to that, goes through its queue once more at its beginning and after each suspension, behind what came meanwhile.
final class ActorExecutor: SerialExecutor, @unchecked Sendable {
  // Unchecked, because of the reference, which never changes; the scheduler owns this object.
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
