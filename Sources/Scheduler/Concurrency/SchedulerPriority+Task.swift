extension SchedulerPriority {
  /// The priority that comes next to a task's, by this table.
  ///
  /// | `TaskPriority` | ``SchedulerPriority`` | and back |
  /// |---|---|---|
  /// | `.high`, `.userInitiated`, and above | ``high`` | `.high` |
  /// | `.medium`, and above | ``default`` | `.medium` |
  /// | `.low`, `.utility`, and above | ``low`` | `.low` |
  /// | `.background`, and what is below `.low` | ``background`` | `.background` |
  ///
  /// A job of a task runs with the priority of the scheduler that it is given to, as an action does; the task's own does not count there. So neither
  /// does the task's escalation: a job that waits is not moved, on any scheduler, but keeps its place in the order.
  ///
  /// - Parameter priority: a task's.
  public init(_ priority: TaskPriority) {
    self.init(raw: priority.rawValue)
  }
}

extension SchedulerPriority {
  /// The same for a task's priority as a number. Those of Swift's names are written out: to ask for one is a call.
  @inline(__always) init(raw: UInt8) {
    switch raw {
    case 25...: self = .high  // TaskPriority.high
    case 21...: self = .default  // TaskPriority.medium
    case 17...: self = .low  // TaskPriority.low
    default: self = .background
    }
  }
}

extension TaskPriority {
  /// The priority that comes next to a scheduler's: the table of `SchedulerPriority.init(_:)`.
  ///
  /// - Parameter priority: a scheduler's.
  public init(_ priority: SchedulerPriority) {
    switch priority {
    case .high: self = .high
    case .default: self = .medium
    case .low: self = .low
    case .background: self = .background
    }
  }
}
