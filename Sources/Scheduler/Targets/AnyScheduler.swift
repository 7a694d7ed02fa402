/// Any scheduler, under one type: for stored properties and for interfaces that name no kind.
public final class AnyScheduler: SchedulerType {
  /// The scheduler it stands for.
  public let base: any SchedulerType

  /// Makes one that hands everything on to `base`.
  public init(_ base: any SchedulerType) { self.base = (base as? AnyScheduler)?.base ?? base }

  public var now: MonotonicTime { base.now }

  @discardableResult
  public func schedule<State: Sendable>(
    _ state: State, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Cancelable { base.schedule(state, action: action) }

  @discardableResult
  public func schedule(_ action: @escaping @Sendable () -> Void) -> any Cancelable { base.schedule(action) }

  @discardableResult
  public func schedule<State: Sendable>(
    _ state: State, after delay: Duration, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Cancelable { base.schedule(state, after: delay, action: action) }

  @discardableResult
  public func schedule(
    after delay: Duration, tolerance: Duration, _ action: @escaping @Sendable () -> Void
  ) -> any Cancelable { base.schedule(after: delay, tolerance: tolerance, action) }

  @discardableResult
  public func schedule(
    at instant: MonotonicTime, tolerance: Duration, _ action: @escaping @Sendable () -> Void
  ) -> any Cancelable { base.schedule(at: instant, tolerance: tolerance, action) }

  @discardableResult
  public func schedule(
    at instant: WallTime, tolerance: Duration, _ action: @escaping @Sendable () -> Void
  ) -> any Cancelable { base.schedule(at: instant, tolerance: tolerance, action) }

  @discardableResult
  public func schedule(
    at instant: BootTime, tolerance: Duration, _ action: @escaping @Sendable () -> Void
  ) -> any Cancelable { base.schedule(at: instant, tolerance: tolerance, action) }

  @discardableResult
  public func schedulePeriodic(_ timing: PeriodicTiming, action: @escaping @Sendable () -> Void) -> any Cancelable {
    base.schedulePeriodic(timing, action: action)
  }
}
