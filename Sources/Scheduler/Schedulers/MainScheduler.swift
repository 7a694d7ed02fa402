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
public final class MainScheduler: SchedulerTarget, @unchecked Sendable {
  // Unchecked, as its superclass is.
  /// The one that runs at once when it can.
  public static let instance: MainScheduler = MainScheduler()
  /// The one that never runs at once.
  public static let asyncInstance: MainScheduler = MainScheduler(
    place: StandingCore(madeBy: { MainScheduler.asyncInstance }))

  private init(place: StandingCore? = nil) { super.init(core: MainCore.shared, place: place) }

  // MARK: scheduling

  @discardableResult
  public override func schedule<State: Sendable>(
    _ state: State, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Disposable {
    atOnce {
      action(state)
    } queued: { ticket in
      super.schedule(state) { state in
        defer { withExtendedLifetime(ticket) {} }
        return action(state)
      }
    }
  }

  @discardableResult
  public override func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    atOnce {
      action()
      return Disposables.create()
    } queued: { ticket in
      super.schedule {
        action()
        withExtendedLifetime(ticket) {}
      }
    }
  }

  /// Calls one of the two. What an action captures is let go when it has run, or was disposed; only then is it not outstanding any
  /// more, for which it holds the ticket.
  private func atOnce(
    _ run: () -> any Disposable, queued submit: (MainCore.Ticket) -> any Disposable
  ) -> any Disposable {
    let (ticket, isFirst) = MainCore.shared.takeTicket()
    guard place == nil, isFirst, MainCore.shared.isHere else { return submit(ticket) }
    defer { withExtendedLifetime(ticket) {} }
    return EndedAction.leading(to: core.run(run))
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
