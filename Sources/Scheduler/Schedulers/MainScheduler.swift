internal import CScheduler

/// Runs its actions on the main thread.
///
/// ```swift
/// MainScheduler.instance.schedule { label.text = "ready" }   // on the main thread already, and nothing waits: at once
/// MainScheduler.asyncInstance.schedule { layout() }          // never at once
/// MainScheduler.run()                                        // a program without another main loop
/// ```
///
/// 1. ``instance`` runs an action at once when it is scheduled on the main thread and nothing is waiting or running there;
///    otherwise it is queued. ``asyncInstance`` queues always.
/// 2. There is one order for both, and for all who submit: nothing overtakes what was queued before.
/// 3. The main thread must run them: by ``run()``, ``run(until:)`` or ``runUntilIdle()``, or by Dispatch's or Foundation's main loop
///    (module `SchedulerMainLoop`).
public final class MainScheduler: SchedulerTarget, CoreOwner {
  /// The one that runs at once when it can.
  public static let instance: MainScheduler = MainScheduler(own: nil)
  /// The one that never runs at once.
  public static let asyncInstance: MainScheduler = MainScheduler(
    own: StandingCore(madeBy: { MainScheduler.asyncInstance }))

  let core: MainCore
  /// What the actions of ``asyncInstance`` are inside of.
  private let own: StandingCore?

  private init(own: StandingCore?) {
    core = MainCore.shared
    self.own = own
    if let own { own.face(self) } else { core.face(self) }
  }

  // MARK: scheduling

  /// Runs `work` at once, or queues it. What it captures is let go when it has run, or was disposed; only then is it not
  /// outstanding any more.
  private func submit(_ work: @escaping @Sendable () -> Void) -> any Disposable {
    let (ticket, isFirst) = core.takeTicket()
    if own == nil, isFirst, core.isHere {
      core.run(work)
      withExtendedLifetime(ticket) {}
      return Disposables.create()
    }
    return core.submit { [own] in
      if let own { own.run(work) } else { work() }
      withExtendedLifetime(ticket) {}
    }.action
  }

  private func inside<State: Sendable>(
    _ action: @escaping @Sendable (State) -> any Disposable
  ) -> @Sendable (State) -> any Disposable {
    guard let own else { return action }
    return { state in own.run { action(state) } }
  }

  private func inside(_ action: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
    guard let own else { return action }
    return { own.run(action) }
  }

  @discardableResult
  public func schedule<State: Sendable>(
    _ state: State, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Disposable {
    let (ticket, isFirst) = core.takeTicket()
    if own == nil, isFirst, core.isHere {
      defer { withExtendedLifetime(ticket) {} }
      return core.run { action(state) }
    }
    let action = inside(action)
    return core.submit(state) { state in
      defer { withExtendedLifetime(ticket) {} }
      return action(state)
    }
  }

  @discardableResult
  public func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable { submit(action) }

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

  // MARK: running

  /// Runs actions until ``stop()``. On the main thread only; may be nested.
  public static func run() {
    MainCore.shared.requireMain("run")
    csched_loop_run(MainCore.shared.loop)
  }

  /// Runs actions until `moment`, or until ``stop()``. Returns whether it was stopped.
  @discardableResult
  public static func run(until moment: MonotonicTime) -> Bool {
    MainCore.shared.requireMain("run(until:)")
    return csched_loop_run_until(MainCore.shared.loop, moment.nanoseconds) == CSCHED_RUN_STOPPED
  }

  /// Runs what is ready, and what that makes ready, without waiting. Returns how many actions ran.
  @discardableResult
  public static func runUntilIdle() -> Int {
    MainCore.shared.requireMain("runUntilIdle")
    var count = 0
    while case let more = csched_loop_run_ready(MainCore.shared.loop, 1_024), more > 0 { count += more }
    return count
  }

  /// Ends the innermost ``run()`` or ``run(until:)``, or the next one. Any thread.
  public static func stop() { csched_loop_stop(MainCore.shared.loop) }

  // MARK: hosts

  /// For the module that hands the main scheduler to another main loop: a descriptor that is readable when there is something to do.
  package static func hostDescriptor() -> Int32 {
    MainCore.shared.requireMain("hostDescriptor")
    return csched_loop_fd(MainCore.shared.loop)
  }

  /// For that module: runs what is ready, on whichever thread is the main one there.
  package static func runInHost() {
    let loop = MainCore.shared.loop
    csched_loop_attach(loop)
    csched_loop_run_ready(loop, 1_024)
    _ = csched_loop_run_until(loop, 0)  // takes a stop that was meant for nobody here
    if !csched_is_main_thread() { csched_loop_detach(loop) }
  }
}
