#if Combine
  // In a file that imports both, OpenCombine's protocol `Scheduler` hides the module.
  // `SchedulerCombine.ImmediateScheduler` then names our type.
  @_exported public import Scheduler
#endif
