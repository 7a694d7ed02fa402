internal import CScheduler

/// Runs each action at once, on the thread that schedules it, before `schedule` returns.
///
/// 1. For a delayed action the caller sleeps until the action is due, and then runs it.
/// 2. Recursive scheduling uses a loop: see ``ImmediateSchedulerType/scheduleRecursive(_:action:)``.
/// 3. A periodic action would never return to the caller. Scheduling one stops the process with a message.
public final class ImmediateScheduler: SchedulerType {
  /// The shared instance. It has no state.
  public static let instance = ImmediateScheduler()

  /// Makes this scheduler the current one in its actions.
  private let core = SchedulerMarker(madeBy: { _ in ImmediateScheduler.instance })

  private init() { core.publish(self) }

  public var now: MonotonicTime { .now }

  @discardableResult
  public func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    core.run(action)
    return NopDisposable()  // the action has run: nothing remains to dispose
  }

  @discardableResult
  public func schedule(_ timing: ActionTiming, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    if timing.period != nil {
      misuse(
        "ImmediateScheduler.schedule(.every)",
        "the caller would never go on. Use a scheduler that has a thread or a queue.")
    }
    switch timing.start {
    case .after(let delay): csched_swift_sleep_until_(delay.deadline)
    case .at(let instant): csched_swift_sleep_until_(instant.nanoseconds)
    case .continuous(let nanoseconds): sleep(until: nanoseconds, on: CSCHED_CLOCK_BOOT, timing.tolerance)
    case .wall(let instant): sleep(until: instant.nanosecondsSince1970, on: CSCHED_CLOCK_WALL, timing.tolerance)
    }
    return schedule(action)
  }

  /// Blocks the caller until an instant of `clock`, the boot or the wall clock. Waits for a delayed action on a pool,
  /// because the pool's timers notice a change of the wall clock, which a sleep does not.
  private func sleep(until nanoseconds: UInt64, on clock: csched_clock, _ tolerance: Duration) {
    while csched_clock_now(clock) < nanoseconds {  // again if the action was dropped, which wakes the caller early
      let sleep = ClockSleep()
      let waking = withoutRefusalLine {  // a refusal is reported below
        (PoolCore.waiting(.high) ?? PoolCore.shared(.high)).submit(  // high: a thread waits for this action
          { [alarm = Alarm(sleep)] in withExtendedLifetime(alarm) {} }, at: nanoseconds, on: clock,
          tolerance: tolerance, inside: nil)
      }
      if waking.isDisposed, csched_clock_now(clock) < nanoseconds {  // too early: the pool has refused the action
        misuse(
          "ImmediateScheduler.schedule(.at)",
          "the system has no thread or descriptor to keep that clock with. Raise its limits, or use a delay.")
      }
      sleep.wait()
    }
  }
}

/// One sleep of a thread. `Alarm` ends it.
private final class ClockSleep: Sendable {
  private let isOver = Protected(false)
  private let endEvent = Occurrence()  // wakes the sleeping thread

  /// Blocks the caller until ``end()``.
  func wait() {
    // The mark counts the events so far. It is read in the critical section that checks `isOver`: so an `end` after the
    // check ends the wait.
    while let mark = isOver.withLock({ $0 ? nil : endEvent.mark }) { endEvent.wait(since: mark) }
  }

  func end() {
    isOver.write(true)  // before the event, after which `wait` checks this value
    endEvent.signal()  // counts an event, and wakes the thread in `wait`
  }
}

/// Ends a sleep by its deinit. Only the action on the pool captures this object, so deinit runs when the action has run
/// or was dropped.
private final class Alarm: Sendable {
  private let sleep: ClockSleep
  init(_ sleep: ClockSleep) { self.sleep = sleep }
  deinit { sleep.end() }
}
