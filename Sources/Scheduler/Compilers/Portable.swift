// For every compiler without a file of its own in this folder: tests force it with SCHEDULER_WITHOUT_SPI.

#if !(compiler(>=6.3) && compiler(<6.4) && os(Linux)) || SCHEDULER_WITHOUT_SPI
  /// Empty: each job uses a task of the core.
  struct JobTypes: Sendable {}

  extension TaskJob {
    func submitInPlace(to core: TargetCore) -> Bool { false }
  }
#endif
