// What stands for Sources/Scheduler/Concurrency: Swift's own tasks are not in the model, so none ever comes.

internal import CScheduler

struct TaskJob {}

struct LateJobs {}

struct JobTypes: Sendable {}

/// The clock of a scheduler. No check sleeps on it.
public struct SchedulerClock: Clock {
  let scheduler: any SchedulerType
  public var now: MonotonicTime { scheduler.now }
  public var minimumResolution: Duration { .nanoseconds(1) }
  public func sleep(until deadline: MonotonicTime, tolerance: Duration?) async throws { fatalError("a sleep") }
}
extension SchedulerType { public var clock: SchedulerClock { SchedulerClock(scheduler: self) } }

enum GlobalJobs {
  static let hasRunMain = false
}

extension TargetCore {
  final func endExclusion() {}
}

final class ActorExecutor: Sendable {
  init(_ scheduler: SchedulerTarget) {}
}
