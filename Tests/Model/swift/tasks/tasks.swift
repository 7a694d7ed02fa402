// What stands for Sources/Scheduler/Concurrency: Swift's own tasks are not in the model, so none ever comes.

internal import CScheduler

struct TaskJob {}

struct LateJobs {}

struct JobTypes: Sendable {}

enum GlobalJobs {
  static let hasRunMain = false
}

extension TargetCore {
  final func endExclusion() {}
}

final class ActorExecutor: Sendable {
  init(_ scheduler: SchedulerTarget) {}
}
