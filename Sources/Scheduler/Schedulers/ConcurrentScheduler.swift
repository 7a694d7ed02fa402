internal import CScheduler

/// Runs actions side by side, on the threads of a pool that all concurrent and serial schedulers share.
///
/// ```swift
/// let workers = ConcurrentScheduler(priority: .low)
/// for image in images { workers.schedule { image.decode() } }
/// ```
///
/// 1. As many actions run at a time as there are processors to use; when all of them are blocked, another thread takes their place.
/// 2. There is no order between actions, and nothing that one did is visible to another without further means.
/// 3. A pool with nothing to do sleeps, with no wakeups.
public final class ConcurrentScheduler: SchedulerTarget, CoreOwner {
  let core: PoolCore
  /// What its actions are inside of, so that each of several schedulers with one priority is found as the current one.
  private let own: StandingCore
  /// What it was called.
  public let name: String

  /// Makes one whose actions have that priority.
  public init(name: String = "", priority: SchedulerPriority = .default) {
    self.name = name
    core = PoolCore.shared(priority)
    own = StandingCore(madeBy: { ConcurrentScheduler(name: name, priority: priority) })
    own.face(self)
  }

  private func inside<State: Sendable>(
    _ action: @escaping @Sendable (State) -> any Disposable
  ) -> @Sendable (State) -> any Disposable {
    { [own] state in own.run { action(state) } }
  }

  private func inside(_ action: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
    { [own] in own.run(action) }
  }

  @discardableResult
  public func schedule<State: Sendable>(
    _ state: State, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Disposable { core.submit(state, inside(action)) }

  @discardableResult
  public func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    core.submit(inside(action)).action
  }

  @discardableResult
  public func schedule<State: Sendable>(
    _ state: State, after delay: Duration, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Disposable {
    let action = inside(action)
    return core.submit(.disposing { action(state) }, after: delay, keeping: self)
  }

  @discardableResult
  public func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    core.submit(.plain(inside(action)), after: delay, keeping: self)
  }

  @discardableResult
  public func schedule(at moment: MonotonicTime, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    core.submit(.plain(inside(action)), at: moment.nanoseconds, keeping: self)
  }

  @discardableResult
  public func schedulePeriodic(_ timing: PeriodicTiming, action: @escaping @Sendable () -> Void) -> any Disposable {
    core.submit(timing, keeping: self, inside(action))
  }

  /// Schedules `action` for `delay` from now, or up to `leeway` later, so that fewer wakeups serve more timers.
  @discardableResult
  public func schedule(
    after delay: Duration, leeway: Duration, _ action: @escaping @Sendable () -> Void
  ) -> any Disposable {
    core.submit(.plain(inside(action)), after: delay, leeway: leeway, keeping: self)
  }
}

/// Calls `body`, which may block, on this thread; if that is one of the pool's, another one takes its place meanwhile.
///
/// Without it the pool finds out by itself, after some milliseconds.
public func withBlocking<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
  csched_pool_blocking_begin()
  defer { csched_pool_blocking_end() }
  return try body()
}
