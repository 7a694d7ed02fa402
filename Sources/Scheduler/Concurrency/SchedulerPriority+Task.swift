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
  // Numbers that are read once: each look at one of Swift's priorities, and each of their comparisons, is a call.
  private static let lowestHigh = TaskPriority.high.rawValue, lowestDefault = TaskPriority.medium.rawValue
  private static let lowestLow = TaskPriority.low.rawValue

  /// The same for a task's priority as a number.
  init(raw: UInt8) {
    if raw >= Self.lowestHigh {
      self = .high
    } else if raw >= Self.lowestDefault {
      self = .default
    } else {
      self = raw >= Self.lowestLow ? .low : .background
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
