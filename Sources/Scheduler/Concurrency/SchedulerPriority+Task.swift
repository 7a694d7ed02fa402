extension SchedulerPriority {
  /// Converts a task's priority to the nearest scheduler priority, by this table.
  ///
  /// | `TaskPriority` | ``SchedulerPriority`` | and back |
  /// |---|---|---|
  /// | `.high`, `.userInitiated`, and above | ``high`` | `.high` |
  /// | `.medium`, and above | ``default`` | `.medium` |
  /// | `.low`, `.utility`, and above | ``low`` | `.low` |
  /// | `.background`, and all others below `.low` | ``background`` | `.background` |
  ///
  /// A job of a task runs with the priority of its scheduler, as an action does. The scheduler ignores the task's own
  /// priority and its escalation:
  /// a waiting job does not change its position in the queue.
  ///
  /// - Parameter priority: a task's priority.
  public init(_ priority: TaskPriority) {
    self.init(raw: priority.rawValue)
  }
}

extension SchedulerPriority {
  /// Converts the raw value of a task's priority. The numbers are literals, because a static property of `TaskPriority`
  /// costs a function call.
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
  /// Converts a scheduler's priority to a task's, by the table of `SchedulerPriority.init(_:)`.
  ///
  /// - Parameter priority: a scheduler's priority.
  public init(_ priority: SchedulerPriority) {
    switch priority {
    case .high: self = .high
    case .default: self = .medium
    case .low: self = .low
    case .background: self = .background
    }
  }
}
