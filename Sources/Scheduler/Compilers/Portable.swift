// For every compiler without a file of its own in this folder. Tests use this file with SCHEDULER_WITHOUT_SPI.

#if !(compiler(>=6.3) && compiler(<6.4) && os(Linux)) || SCHEDULER_WITHOUT_SPI
  /// Empty: each job is submitted in a `csched_task` of the C core.
  struct JobTypes: Sendable {}

  extension TaskJob {
    func submitInPlace(to core: TargetCore) -> Bool { false }
  }
#endif
