/// A scheduler of your own: you say how work gets to where it runs, and get everything else.
///
/// ```swift
/// let widgets = CustomScheduler(name: "widgets") { work in toolkit.performOnMainLoop(work) }
/// widgets.schedule(after: .seconds(1)) { assert(Schedulers.current === widgets) }
/// let queue = SerialScheduler(target: widgets)   // if the toolkit is concurrent, this is serial all the same
/// ```
///
/// ``Schedulers/current``, disposal before the turn, delayed, periodic and recursive actions, serial queues on top: all come from here.
///
/// 1. The closure is called on any thread, for one piece of work at a time; it must see to it that the work is called once, later or
///    at once. If it lets go of the work uncalled, the action is dropped: its closure is released, and nothing runs.
/// 2. Order and threads are the closure's to give.
public final class CustomScheduler: SchedulerTarget, CoreOwner {
  let core: CustomCore
  /// What it was called.
  public let name: String

  /// Makes one whose work goes to `enqueue`.
  public init(name: String = "", enqueue: @escaping @Sendable (_ work: @escaping @Sendable () -> Void) -> Void) {
    self.name = name
    core = CustomCore(name: name, enqueue: enqueue)
    core.face(self)
  }

  init(core: CustomCore, name: String) {
    self.core = core
    self.name = name
  }

  @discardableResult
  public func schedule<State: Sendable>(
    _ state: State, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Disposable { core.submit(state, action) }

  @discardableResult
  public func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable { core.submit(action).action }

  @discardableResult
  public func schedule<State: Sendable>(
    _ state: State, after delay: Duration, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Disposable { core.submit(.disposing { action(state) }, after: delay, keeping: self) }

  @discardableResult
  public func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    core.submit(.plain(action), after: delay, keeping: self)
  }

  @discardableResult
  public func schedule(at moment: MonotonicTime, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    core.submit(.plain(action), at: moment.nanoseconds, keeping: self)
  }

  @discardableResult
  public func schedulePeriodic(_ timing: PeriodicTiming, action: @escaping @Sendable () -> Void) -> any Disposable {
    core.submit(timing, keeping: self, action)
  }
}
