internal import CScheduler

/// How soon work runs, compared to other ready work. Work of a lower priority may wait, but it always runs in the end.
public enum SchedulerPriority: Hashable, Sendable, CaseIterable {
  case high
  case `default`
  case low
  case background

  var core: csched_priority {
    switch self {
    case .high: CSCHED_PRIORITY_HIGH
    case .default: CSCHED_PRIORITY_DEFAULT
    case .low: CSCHED_PRIORITY_LOW
    case .background: CSCHED_PRIORITY_BACKGROUND
    }
  }
}
