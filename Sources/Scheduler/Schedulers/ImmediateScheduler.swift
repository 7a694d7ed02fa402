internal import CScheduler

/// Runs each action at once, on the thread that schedules it, before `schedule` returns.
///
/// 1. For a delayed action the caller sleeps until its time, and then runs it.
/// 2. Recursive scheduling uses a loop: see ``ImmediateSchedulerType/scheduleRecursive(_:action:)``.
/// 3. A periodic action would never return to the caller. Scheduling one stops the process with a message.
public final class ImmediateScheduler: SchedulerType {
  /// The shared instance. It has no state.
  public static let instance = ImmediateScheduler()

  private let core = SchedulerMarker(madeBy: { _ in ImmediateScheduler.instance })

  private init() { core.publish(self) }

  public var now: MonotonicTime { .now }

  @discardableResult
  public func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    core.run(action)
    return NopDisposable()
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

  /// Sleeps until an instant of `clock`. A delayed action of the pool wakes the caller, because the pool notices when the clock is set.
  private func sleep(until nanoseconds: UInt64, on clock: csched_clock, _ tolerance: Duration) {
    while csched_clock_now(clock) < nanoseconds {  // the action may also end early, by a drop
      let sleep = ClockSleep()
      let waking = withoutRefusalLine {
        PoolCore.shared(.high).submit(
          { [alarm = Alarm(sleep)] in withExtendedLifetime(alarm) {} }, at: nanoseconds, on: clock,
          tolerance: tolerance, inside: nil)
      }
      if waking.isDisposed, csched_clock_now(clock) < nanoseconds {  // refused
        misuse(
          "ImmediateScheduler.schedule(.at)",
          "the system has no thread or descriptor to keep that clock with. Raise its limits, or use a delay.")
      }
      sleep.wait()
    }
  }
}

/// The state of one sleep, which `Alarm` ends.
private final class ClockSleep: Sendable {
  private let isOver = Protected(false)
  private let ends = Occurrence()  // wakes the sleeping thread

  func wait() {
    while let mark = isOver.withLock({ $0 ? nil : ends.mark }) { ends.wait(since: mark) }
  }

  func end() {
    isOver.write(true)
    ends.happen()
  }
}

/// Its deinit ends the sleep. Only the pool's action captures this object, so deinit runs when the action has run or was dropped.
private final class Alarm: Sendable {
  private let sleep: ClockSleep
  init(_ sleep: ClockSleep) { self.sleep = sleep }
  deinit { sleep.end() }
}
