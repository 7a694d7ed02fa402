extension SchedulerType {
  /// A scheduler whose every action runs on this one, inside of `wrap`, which calls what it is given once.
  ///
  /// ```swift
  /// let measured = queue.wrapping { run in
  ///   let start = MonotonicTime.now
  ///   run()
  ///   record(start.duration(to: .now))
  /// }
  /// ```
  ///
  /// ``Schedulers/current`` stays this scheduler. An action that was disposed before its turn does not reach `wrap`.
  ///
  /// - Parameter wrap: called for each action, on the thread that runs it, with what runs the action.
  public func wrapping(_ wrap: @escaping @Sendable (_ run: () -> Void) -> Void) -> WrappingScheduler {
    WrappingScheduler(base: self, wrap: wrap)
  }
}

/// Runs each action of another scheduler inside a closure: see ``SchedulerType/wrapping(_:)``.
public final class WrappingScheduler: SchedulerType {
  let base: any SchedulerType
  private let wrap: @Sendable (_ run: () -> Void) -> Void
  private let counted = CountedClosure()

  init(base: any SchedulerType, wrap: @escaping @Sendable (_ run: () -> Void) -> Void) {
    self.base = base
    self.wrap = wrap
  }

  public var now: MonotonicTime { base.now }

  private func wrapped<State: Sendable>(
    _ action: @escaping @Sendable (State) -> any Disposable
  ) -> @Sendable (State) -> any Disposable {
    { [wrap] state in
      var returned: any Disposable = Disposables.create()
      wrap { returned = action(state) }
      return returned
    }
  }

  private func wrapped(_ action: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
    { [wrap] in wrap(action) }
  }

  @discardableResult
  public func schedule<State: Sendable>(
    _ state: State, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Cancelable { base.schedule(state, action: wrapped(action)) }

  @discardableResult
  public func schedule(_ action: @escaping @Sendable () -> Void) -> any Cancelable { base.schedule(wrapped(action)) }

  @discardableResult
  public func schedule<State: Sendable>(
    _ state: State, after delay: Duration, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Cancelable { base.schedule(state, after: delay, action: wrapped(action)) }

  @discardableResult
  public func schedule(
    after delay: Duration, tolerance: Duration, _ action: @escaping @Sendable () -> Void
  ) -> any Cancelable { base.schedule(after: delay, tolerance: tolerance, wrapped(action)) }

  @discardableResult
  public func schedule(
    at instant: MonotonicTime, tolerance: Duration, _ action: @escaping @Sendable () -> Void
  ) -> any Cancelable { base.schedule(at: instant, tolerance: tolerance, wrapped(action)) }

  @discardableResult
  public func schedule(
    at instant: WallTime, tolerance: Duration, _ action: @escaping @Sendable () -> Void
  ) -> any Cancelable { base.schedule(at: instant, tolerance: tolerance, wrapped(action)) }

  @discardableResult
  public func schedule(
    at instant: BootTime, tolerance: Duration, _ action: @escaping @Sendable () -> Void
  ) -> any Cancelable { base.schedule(at: instant, tolerance: tolerance, wrapped(action)) }

  @discardableResult
  public func schedulePeriodic(_ timing: PeriodicTiming, action: @escaping @Sendable () -> Void) -> any Cancelable {
    base.schedulePeriodic(timing, action: wrapped(action))
  }
}
