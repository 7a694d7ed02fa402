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

    @discardableResult
    func schedule<State: Sendable>(
      _ state: State, action: @escaping @Sendable (State) -> any Disposable
    ) -> any Cancelable { base.schedule(state, action: action) }

    @discardableResult
    func schedule(_ action: @escaping @Sendable () -> Void) -> any Cancelable { base.schedule(action) }

    @discardableResult
    func schedule<State: Sendable>(
      _ state: State, after delay: Duration, action: @escaping @Sendable (State) -> any Disposable
    ) -> any Cancelable {
      if delay > .zero { SchedulerCombine.ImmediateScheduler.instance.schedule(after: delay) {} }
      return base.schedule(state, action: action)
    }

    @discardableResult
    func schedulePeriodic(_ timing: PeriodicTiming, action: @escaping @Sendable () -> Void) -> any Cancelable {
      SchedulerCombine.ImmediateScheduler.instance.schedulePeriodic(timing, action: action)
    }
  }
#endif
