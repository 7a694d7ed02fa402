// What stands for Sources/Scheduler/Concurrency: Swift's own tasks are not in the model, so none ever comes.

internal import CScheduler

struct TaskJob {}

struct LateJobs {}

struct JobTypes: Sendable {}

enum GlobalJobs {
  static let ownsMain = false
}

extension TargetCore {
  final func endExclusion() {}
}

final class ActorExecutor: Sendable {
  init(_ scheduler: SchedulerTarget) {}
}

extension SchedulerType {
  public func suspendTask(
    until instant: MonotonicTime, tolerance: Duration, isolation: isolated (any Actor)?
  ) async throws {}

  func awaitAction(at instant: MonotonicTime, tolerance: Duration, isolation: isolated (any Actor)?) async throws {}
}
