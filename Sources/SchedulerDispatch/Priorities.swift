public import Dispatch
public import Scheduler

extension SchedulerPriority {
  /// Creates the priority closest to a Dispatch class: `.high` for `.userInteractive` and `.userInitiated`, `.low` for
  /// `.utility`, `.background` for `.background`, and `.default` for all others.
  @_disfavoredOverload
  public init(_ qos: DispatchQoS) {
    switch qos.qosClass {
    case .userInteractive, .userInitiated: self = .high
    case .utility: self = .low
    case .background: self = .background
    default: self = .default
    }
  }
}
