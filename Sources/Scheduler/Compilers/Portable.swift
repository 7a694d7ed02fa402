// For every compiler without a file of its own in this folder. Tests use this file with SCHEDULER_WITHOUT_SPI.

#if !(compiler(>=6.3) && compiler(<6.4) && os(Linux)) || SCHEDULER_WITHOUT_SPI
  /// Empty: on these compilers each job of a Swift task is submitted in a `csched_task` of the C core (TaskJob.swift).
  struct JobTypes: Sendable {}

  extension TaskJob {
    func submitInPlace(to core: TargetCore) -> Bool { false }  // false: the caller submits a csched_task
  }
#endif
