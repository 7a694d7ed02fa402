internal import CScheduler

/// A donation of a task's priority to the pool priority that it waits for, until ``takeBack()``: see `csched_target_lend`.
struct LentPriority {
  private let scheduler: SchedulerTarget  // retains the target
  private let priority: csched_priority

  /// Donates the current task's priority. Returns nil unless `scheduler` is on a pool, with a lower priority.
  init?(to scheduler: some ImmediateSchedulerType) {
    guard let target = scheduler.unwrapped as? SchedulerTarget else { return nil }
    self.scheduler = target
    priority = SchedulerPriority(Task.currentPriority).core
    guard csched_target_lend(target.core.target, priority) else { return nil }
  }

  func takeBack() { csched_target_take_back(scheduler.core.target, priority) }
}
