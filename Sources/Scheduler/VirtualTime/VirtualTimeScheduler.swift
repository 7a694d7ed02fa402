internal import CScheduler

/// A scheduler with its own clock, which moves only in your calls. The thread that moves the clock runs the actions
/// that become due.
///
/// Hours of virtual time take no real time, and actions run in the same order each time. `Instant` is the type of its
/// instants, such as that of your own clock. ``TestScheduler`` uses ``MonotonicTime``.
///
/// 1. *Order.* Actions run in the order of their times. Actions for the same time run in the order in which they were
///    scheduled.
/// 2. *Time never moves back.* An action scheduled for the past is scheduled for the present. If `sleep(to:)` moved the
///    clock past an action, that action runs at the present, in the order of its time.
/// 3. *One call moves the clock at a time.* A call of `advance`, `run` or `step` while another one is in progress does
///    not nest and does not wait. It extends the call in progress, and returns. Actions and other threads may make such
///    calls. The call in progress does all the work, after the running action has returned. So an advance inside an
///    action uses no stack, and cannot hang.
/// 4. *All calls end.* ``run()`` waits for the first tick of a periodic action only. A period that is not positive has
///    one tick. If a call runs more than `actionLimit` actions, the process stops with a message.
/// 5. *Cancellation.* After `dispose` has returned, an action that had not started never starts, and its closure and
///    captures are released.
/// 6. *Current.* Inside its actions, on any thread, ``Schedulers/current`` is this scheduler.
/// 7. *Any thread* may call any function at any time. No user code, comparisons of instants included, runs under a
///    lock.
/// 8. *Release.* When the last reference to the scheduler is released, waiting actions are released, and never run. A
///    waiting action that captures the scheduler is such a reference: dispose of it, or capture the scheduler
///    `unowned`.
/// 9. *Ticks.* The clock counts nanoseconds in 64 bits. Actions with the same count run in the order of submission.
///    Instants more than 292 years before the initial clock have the first count, those more than 292 years after it
///    the last count before the end of time.
/// 10. *Periodic actions* run as on every other scheduler: at a fixed rate unless their ``ActionTiming`` says
///    otherwise. If `sleep(to:)` moved the clock past a tick, that tick is late.
/// 11. *Queues.* It can be the target of a ``SerialScheduler``, whose delayed and periodic actions then run in virtual
///     time. While a `sync` on a busy queue waits, its thread runs due actions as soon as they are submitted, unless
///     another call is moving the clock.
///
/// ```swift
/// let scheduler = TestScheduler()
/// scheduler.schedule(after: .seconds(3_600)) { print("an hour later") }
/// scheduler.advance(by: .seconds(3_599))  // nothing yet
/// scheduler.advance(by: .seconds(1))      // prints
/// ```
public final class VirtualTimeScheduler<Instant: InstantProtocol<Duration>>: SchedulerTarget, @unchecked Sendable {
  // Unchecked, as its superclass is.
  let timeline: InstantTimeline<Instant>  // the clock
  var sleepers: Sleepers { timeline.sleepers }  // the tasks that sleep on this scheduler

  /// How many actions one call of `advance`, `run` or `step` may run. A call that exceeds the limit counts as endless,
  /// and stops the process.
  public let actionLimit: Int

  /// Creates a scheduler.
  ///
  /// - Parameters:
  ///   - initialClock: the clock's first instant.
  ///   - origin: the instant at which ``SchedulerType/now`` is 0; by default the initial clock. `now` is 0 before it,
  ///     too.
  ///   - end: the final instant, if there is one. Work for this instant is beyond the end of time: only an advance to
  ///     it runs that work, not ``run()`` or ``step(_:)``. The instants' own arithmetic must not overflow.
  ///   - actionLimit: see ``actionLimit``; at least 1.
  public convenience init(
    initialClock: Instant, origin: Instant? = nil, end: Instant? = nil, actionLimit: Int = 1 << 21
  ) {
    let scale = InstantScale(start: initialClock, origin: origin ?? initialClock, end: end)
    self.init(initialClock: initialClock, scale: scale, actionLimit: actionLimit)
  }

  /// Creates a scheduler whose `scale` converts instants to ticks.
  package init(initialClock: Instant, scale: any VirtualTimeScale<Instant>, actionLimit: Int) {
    self.actionLimit = max(1, actionLimit)
    timeline = InstantTimeline(start: initialClock, scale: scale, actionLimit: self.actionLimit)
    // No `makeScheduler`: actions run only in calls on this scheduler, so `Schedulers.current` finds it. No marker: the
    // core has only one scheduler.
    super.init(core: TargetCore(csched_virtual_target(timeline.pointer), timeline: timeline))
  }

  deinit { csched_virtual_close(timeline.pointer) }  // drops waiting actions now: queues may retain the timeline longer

  // MARK: state

  /// The present virtual time; inside an action, the action's time.
  public var virtualTime: Instant { timeline.time }

  /// How many actions and sleeps wait, without disposed ones. A serial queue that has work counts as one. Constant
  /// time, unless such queues wait.
  public var pendingCount: Int { csched_virtual_pending(timeline.pointer) }

  /// How many tasks sleep on this scheduler. Constant time.
  public var sleeperCount: Int { sleepers.count }

  // MARK: scheduling

  @discardableResult
  public override func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    schedule(after: .zero, action)
  }

  /// Schedules `work` for the present. `chain` receives the disposable that the action returns.
  package override func submit(_ work: @escaping @Sendable () -> Void, of chain: ReturningAction) {
    core.submit(work, after: .zero, inside: marker, of: chain)
  }

  /// Schedules `work` for `time`. `chain` receives the disposable that the action returns.
  package func submit(_ work: @escaping @Sendable () -> Void, at time: Instant, of chain: ReturningAction) {
    core.submit(work, at: timeline.instant(of: time), inside: nil, of: chain)
  }

  /// Schedules `action` for `time`, or for the present if that is in the past.
  @discardableResult
  public func schedule(at time: Instant, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    core.submit(action, at: timeline.instant(of: time), inside: nil)
  }
}

extension VirtualTimeScheduler: DropsWhenReleased {}

/// A scheduler with virtual time in nanoseconds. Use it to test code that takes a ``SchedulerType``, without delays and
/// with repeatable results.
///
/// ```swift
/// let scheduler = TestScheduler()
/// let ticks = Protected(0)
/// let ticking = scheduler.schedule(.every(.seconds(1))) { ticks.wrappedValue += 1 }
/// scheduler.advance(by: .seconds(60))
/// ticking.dispose()
/// print(ticks.read(), scheduler.now.nanoseconds)  // 60 60000000000
/// ```
public typealias TestScheduler = VirtualTimeScheduler<MonotonicTime>

extension VirtualTimeScheduler where Instant == MonotonicTime {
  /// Creates a scheduler.
  ///
  /// - Parameters:
  ///   - initialClock: the clock's first instant.
  ///   - actionLimit: see ``VirtualTimeScheduler/actionLimit``.
  public convenience init(
    initialClock: MonotonicTime = MonotonicTime(nanoseconds: 0), actionLimit: Int = 1 << 21
  ) {
    self.init(initialClock: initialClock, scale: MonotonicScale(), actionLimit: actionLimit)
  }
}
