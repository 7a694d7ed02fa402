#if Combine
  public import Scheduler

  extension ImmediateSchedulerType {
    /// This scheduler, as Combine's operators want one. Where it has no timers (`CurrentThreadScheduler`), who schedules for later waits until
    /// then, as on `ImmediateScheduler`; a periodic action stops the process with a message there.
    public var combine: CombineScheduler {
      CombineScheduler(base: self as? any SchedulerType ?? WaitingScheduler(base: self))
    }
  }

  /// A scheduler without timers, with delays in which the caller sleeps.
  final class WaitingScheduler: SchedulerType {
    let base: any ImmediateSchedulerType

    init(base: any ImmediateSchedulerType) { self.base = base }

    var now: MonotonicTime { .now }

    @discardableResult
    func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable { base.schedule(action) }

    @discardableResult
    func schedule(_ timing: ActionTiming, _ action: @escaping @Sendable () -> Void) -> any Disposable {
      SchedulerCombine.ImmediateScheduler.instance.schedule(timing) {}
      return base.schedule(action)
    }
  }
#endif
