#if Combine
  // OpenCombine's protocol `Scheduler` hides the module's name in a file that imports both: `SchedulerCombine.ImmediateScheduler` then is ours.
  @_exported public import Scheduler
#endif
