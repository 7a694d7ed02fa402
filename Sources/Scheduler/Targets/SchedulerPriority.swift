internal import CScheduler

/// How soon work runs, beside other work that is ready. A lower priority may wait, but never for ever.
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
