/// A scheduler that a ``SerialScheduler`` can stand on: one of this module's that has a place to run work.
public protocol SchedulerTarget: SchedulerType, AnyObject {}

/// What each of them has inside.
protocol CoreOwner: AnyObject {
  associatedtype Core: TargetCore
  var core: Core { get }
}

/// The core of `scheduler`.
func core(of scheduler: any SchedulerTarget) -> TargetCore {
  func open(_ owner: some CoreOwner) -> TargetCore { owner.core }
  guard let owner = scheduler as? any CoreOwner else {
    preconditionFailure(
      "SerialScheduler: \(type(of: scheduler)) is not one of this module's schedulers. Wrap it in a CustomScheduler.")
  }
  return open(owner)
}
