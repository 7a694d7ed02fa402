public import Dispatch
public import Scheduler

extension SchedulerPriority {
  /// The priority that comes next to a class of Dispatch's: `.high` for `.userInteractive` and `.userInitiated`, `.low` for `.utility`,
  /// `.background` for that, and `.default` for all others.
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

// Disfavoured, so that `.background` is a SchedulerPriority: these are for what is a DispatchQoS already.
extension SerialScheduler {
  /// Makes one on the pool that everybody shares, in the words of RxSwift.
  @_disfavoredOverload
  public convenience init(qos: DispatchQoS, internalSerialQueueName name: String = "") {
    self.init(name: name, priority: SchedulerPriority(qos))
  }
}

extension ConcurrentScheduler {
  /// Makes one in the words of RxSwift.
  @_disfavoredOverload
  public convenience init(qos: DispatchQoS) { self.init(priority: SchedulerPriority(qos)) }
}
