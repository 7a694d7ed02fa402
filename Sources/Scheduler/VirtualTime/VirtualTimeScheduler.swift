internal import CScheduler

/// Keeps a clock of its own, which moves only when it is told to, and runs what is due by then on the thread that tells it.
///
/// What takes hours runs in no time, and the same way each time. `Instant` says what virtual time is, such as that of a clock of yours.
/// ``TestScheduler`` has ``MonotonicTime``.
///
/// 1. *Order.* Actions run in the order of their times; those for the same time in the order in which they were scheduled.
/// 2. *Time never moves back.* What is scheduled for the past is scheduled for the present. What the clock was moved past by
///    `sleep(to:)` runs at the present, in order.
/// 3. *One drives at a time.* `advance`, `run` and `step`, called while one of them is under way, by an action or on another
///    thread, do not nest and do not wait: they widen what is under way, and return. The one who drives does it all, after the
///    running action has returned, and returns when it is done. So an advance inside of an action costs no stack, and cannot hang.
/// 4. *All calls end.* ``run()`` goes on for the first tick of a periodic action, and for no other; a period that is not positive has one
///    tick; no call runs more than `actionLimit` actions: more stops the process with a message.
/// 5. *Cancellation.* After `dispose` has returned, what had not begun never begins, and its closure and captures are gone.
/// 6. *Current.* In its actions, on whichever thread they run, ``Schedulers/current`` is this scheduler.
/// 7. *Any thread* may do anything at any time. Nothing of the user's, comparisons of instants included, runs under a lock.
/// 8. *Letting go.* Actions that wait when the last reference to the scheduler goes are released, and never run. One that captures
///    the scheduler is such a reference for as long as it waits: dispose of it, or capture the scheduler `unowned`.
/// 9. *Ticks.* The clock counts 64 bits of nanoseconds: what has the same runs in the order of insertion. Instants that lie more than 292
///    years from the initial clock have the first, or the last before the end of time.
///    Periodic actions tick as on every other scheduler: at a fixed rate unless their ``ActionTiming`` says otherwise. What the clock was
///    moved past by `sleep(to:)` is late.
/// 10. It is a target for a ``SerialScheduler`` as any other, with delayed and periodic actions in virtual time. `sync` on one that has
///     something to do waits, and until its end runs what is due as soon as it comes, unless somebody drives.
///
/// ```swift
/// let scheduler = TestScheduler()
/// scheduler.schedule(after: .seconds(3_600)) { print("an hour later") }
/// scheduler.advance(by: .seconds(3_599))  // nothing yet
/// scheduler.advance(by: .seconds(1))      // prints
/// ```
public final class VirtualTimeScheduler<Instant: InstantProtocol<Duration>>: SchedulerTarget, @unchecked Sendable {
  // Unchecked, as its superclass is.
  let timeline: InstantTimeline<Instant>
  var sleepers: Sleepers { timeline.sleepers }

  /// How many actions one call of `advance`, `run` or `step` may run before it is taken for one without an end.
  public let actionLimit: Int

  /// Creates one.
  ///
  /// - Parameters:
  ///   - initialClock: where its clock stands.
  ///   - origin: the instant at which ``SchedulerType/now`` is 0; the initial clock if you give none. `now` is 0 before it, too.
  ///   - end: the last instant, if there is one. What waits there is beyond the end of time: ``run()`` and ``step(_:)`` do not go there, only an
  ///     advance that names it does. It is up to the instants' own arithmetic not to overflow.
  ///   - actionLimit: see ``actionLimit``; 1 at least.
  public convenience init(
    initialClock: Instant, origin: Instant? = nil, end: Instant? = nil, actionLimit: Int = 1 << 21
  ) {
    let scale = InstantScale(start: initialClock, origin: origin ?? initialClock, end: end)
    self.init(initialClock: initialClock, scale: scale, actionLimit: actionLimit)
  }

  /// Creates one that counts as `scale` says.
  package init(initialClock: Instant, scale: any VirtualTimeScale<Instant>, actionLimit: Int) {
    self.actionLimit = max(1, actionLimit)
    timeline = InstantTimeline(start: initialClock, scale: scale, actionLimit: self.actionLimit)
    // Its core is outlived by it: actions run in calls on it.
    super.init(core: TargetCore(csched_virtual_target(timeline.pointer), timeline: timeline))
  }

  deinit { csched_virtual_close(timeline.pointer) }

  // MARK: what there is

  /// The present, in virtual time: inside of an action, the action's time.
  public var virtualTime: Instant { timeline.time }

  /// How many actions wait, those that were disposed not counted; a serial queue that has something to do is one. Constant time, unless such
  /// queues wait.
  public var pendingCount: Int { csched_virtual_pending(timeline.pointer) }

  /// How many tasks are asleep on this scheduler. Constant time.
  public var sleeperCount: Int { sleepers.count }

  // MARK: at once

  @discardableResult
  public override func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    schedule(after: .zero, action)
  }

  package override func submit(_ work: @escaping @Sendable () -> Void, of returning: ReturningAction) {
    core.submit(work, after: .zero, inside: tag, of: returning)
  }

  // MARK: at a time

  /// Schedules what settles `returning`.
  package func submit(_ work: @escaping @Sendable () -> Void, at time: Instant, of returning: ReturningAction) {
    core.submit(work, at: timeline.instant(of: time), inside: nil, of: returning)
  }

  /// Schedules `action` for `time`, or for now where that is in the past.
  @discardableResult
  public func schedule(at time: Instant, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    core.submit(action, at: timeline.instant(of: time), inside: nil)
  }
}

extension VirtualTimeScheduler: EndsByItself {}
