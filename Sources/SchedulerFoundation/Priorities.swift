public import Dispatch
public import Scheduler

extension SchedulerPriority {
  /// Creates the priority closest to a Dispatch class: `.high` for `.userInteractive` and `.userInitiated`, `.low` for
  /// `.utility`,
  /// `.background` for `.background`, and `.default` for all others.
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

// Overloads for values of type DispatchQoS. Disfavoured, so that the literal `.background` is a SchedulerPriority.
extension SerialScheduler {
  /// Creates a scheduler on the shared pool, with RxSwift's parameters.
  @_disfavoredOverload
  public convenience init(qos: DispatchQoS, internalSerialQueueName name: String = "") {
    self.init(name: name, priority: SchedulerPriority(qos))
  }
}

extension ConcurrentScheduler {
  /// Creates a scheduler with RxSwift's parameters.
  @_disfavoredOverload
  public convenience init(qos: DispatchQoS) { self.init(priority: SchedulerPriority(qos)) }
}
