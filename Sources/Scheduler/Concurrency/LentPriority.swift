internal import CScheduler

/// A task's priority, lent to the priority of the pool that it waits for, until ``takeBack()``: see `csched_target_lend`.
struct LentPriority {
  private let scheduler: SchedulerTarget  // keeps the target
  private let priority: csched_priority

  /// Lends the present task's, if `scheduler` is on a pool, and lower.
  init?(to scheduler: some ImmediateSchedulerType) {
    guard let target = scheduler.unwrapped as? SchedulerTarget else { return nil }
    self.scheduler = target
    priority = SchedulerPriority(Task.currentPriority).core
    guard csched_target_lend(target.core.target, priority) else { return nil }
  }

  func takeBack() { csched_target_take_back(scheduler.core.target, priority) }
}
