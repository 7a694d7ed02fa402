/// Runs an action at once when some scheduler is current, because then its caller chose where it runs; otherwise on a private serial
/// queue in the background.
///
/// It is where subscriptions begin (ReactiveCocoa's subscription scheduler): values are sent on a known scheduler from the first.
///
/// 1. The main thread counts as the main scheduler: there an action runs at once too, with ``MainScheduler/instance`` as the current
///    one.
/// 2. Delayed and periodic actions go to ``Schedulers/enclosing``, whose time ``now`` is; where there is none, to the private queue. What resumes
///    a ``PeriodicAction`` schedules it anew, from where that is called. So on the main thread
///    they go to ``MainScheduler``, and never run in a program in which nobody runs that.
public final class SubscriptionScheduler: SchedulerType {
  /// The one that everybody shares.
  public static let instance = SubscriptionScheduler()

  let queue = Protected<SerialScheduler?>(nil)

  /// Makes one with a background queue of its own.
  public init() {}

  private var background: SerialScheduler {
    queue.withLock { queue in
      let found = queue ?? SerialScheduler(name: "subscription")
      queue = found
      return found
    }
  }

  /// Takes another queue from now on; the present one stays as long as it has work.
  func letGo() { queue.write(nil) }

  /// Where delayed work goes.
  private var timed: any SchedulerType {
    if let enclosing = Schedulers.enclosing { return enclosing }
    return background
  }

  /// The time of the scheduler that delayed actions go to.
  public var now: MonotonicTime { Schedulers.enclosing?.now ?? .now }

  @discardableResult
  public func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    if Schedulers.hasCurrent {
      action()
    } else if MainCore.isHere {
      MainCore.shared.run(action)
    } else {
      return background.schedule(action)
    }
    return NopDisposable()
  }

  @discardableResult
  public func schedule(_ timing: ActionTiming, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    timed.schedule(timing, action)
  }
}
