/// Runs an action at once if a scheduler is current, because the caller has chosen that scheduler. Otherwise runs it on
/// a private serial queue.
///
/// Use it to start subscriptions, like ReactiveCocoa's subscription scheduler: all values, from the first one, are sent
/// on a known scheduler.
///
/// 1. The main thread counts as the main scheduler. There an action also runs at once, and ``MainScheduler/instance``
///    is the current scheduler.
/// 2. Delayed and periodic actions, and resumed ones (``PeriodicAction``), are scheduled on ``Schedulers/enclosing``,
///    or else on the private queue. ``now`` is the time of that scheduler. On the main thread it is ``MainScheduler``:
///    the actions run only if the program runs the main loop.
public final class SubscriptionScheduler: SchedulerType {
  /// The shared instance.
  public static let instance = {
    let instance = SubscriptionScheduler()
    _ = instance.queue.heldInForks(beforeOthers: true)
    return instance
  }()

  let queue = Protected<SerialScheduler?>(nil)  // the value of `background`; nil before its first use

  /// Creates a scheduler with its own background queue.
  public init() {}

  /// The private serial queue, made at first use.
  private var background: SerialScheduler {
    queue.withLock { queue in
      let found = queue ?? SerialScheduler(name: "subscription")
      queue = found
      return found
    }
  }

  /// Releases the background queue, which still runs its submitted actions. The next use makes a new queue.
  func releaseBackground() { queue.write(nil) }

  /// The scheduler that receives delayed actions.
  private var timed: any SchedulerType {
    if let enclosing = Schedulers.enclosing { return enclosing }
    return background
  }

  /// The time of the scheduler that receives delayed actions.
  public var now: MonotonicTime { Schedulers.enclosing?.now ?? .now }

  @discardableResult
  public func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    if Schedulers.hasCurrent {
      action()  // the caller has chosen that scheduler
    } else if MainCore.isOnThread {
      MainCore.shared.run(action)  // with MainScheduler.instance as the current scheduler
    } else {
      return background.schedule(action)
    }
    return NopDisposable()  // the action has run
  }

  @discardableResult
  public func schedule(_ timing: ActionTiming, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    timed.schedule(timing, action)
  }
}
