#if Combine
  public import Scheduler

  extension ImmediateSchedulerType {
    /// This scheduler as a ``CombineScheduler``, for Combine's operators.
    ///
    /// If the scheduler has no timers (`CurrentThreadScheduler`), scheduling for later blocks the caller until then, as on `ImmediateScheduler`.
    /// A periodic action stops the process with a message there.
    public var combine: CombineScheduler {
      CombineScheduler(base: self as? any SchedulerType ?? WaitingScheduler(base: self))
    }
  }

  /// Adds delays to a scheduler without timers: the caller sleeps.
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
