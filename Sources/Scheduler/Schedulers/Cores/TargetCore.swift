internal import CScheduler

/// Something of the core that actions are submitted to, and the way back from it to the scheduler that stands for it.
///
/// It lives as long as the core's structure. The scheduler may be gone earlier, while outstanding work still runs; whoever asks for the
/// current scheduler then gets a new one on the same core.
class TargetCore: @unchecked Sendable {
  // Unchecked, because a pointer is not Sendable; what it points to may be used from any thread. `face` is guarded by `lock`.
  let target: UnsafeMutablePointer<csched_target>
  /// Whether it is the main loop, or stands on it, whose host is told of submissions.
  final let isOnMain: Bool
  /// The virtual time that delays here are counted in; `nil`: they are counted by the monotonic clock.
  final let timeline: Timeline?
  private let lock = InlineLock()
  @exclusivity(unchecked) private weak var face: (any ImmediateSchedulerType & AnyObject)?

  /// Makes the core of `target`, which holds it unretained.
  init(_ target: UnsafeMutablePointer<csched_target>, isOnMain: Bool = false, timeline: Timeline? = nil) {
    self.target = target
    self.isOnMain = isOnMain
    self.timeline = timeline
    target.pointee.owner = Unmanaged.passUnretained(self).toOpaque()
  }

  /// A new scheduler on this core; for each kind its own.
  func makeScheduler() -> any ImmediateSchedulerType & AnyObject {
    misuse("TargetCore.makeScheduler", "each kind of core makes its own: override it")
  }

  /// Keeps what the core stands for going, for a delayed action, until as many calls of ``letGo()``.
  ///
  /// A count of the core's, where there is anything to keep going. To retain the scheduler costs more: it is weakly referenced, and
  /// that makes its count a slow one (60 of 280 ns for a timer and its cancellation).
  func use() {}

  /// Takes one ``use()`` back.
  func letGo() {}

  /// Whether what is delivered may be run before the delivery returns.
  var mayRunInside: Bool { false }

  /// Makes `scheduler` the one that ``Schedulers/current`` finds here, unless there is one. Returns the one that is.
  @discardableResult
  final func face(_ scheduler: any ImmediateSchedulerType & AnyObject) -> any ImmediateSchedulerType & AnyObject {
    lock.withLock {
      if let face { return face }
      face = scheduler
      return scheduler
    }
  }

  /// The scheduler that stands for this core.
  final var scheduler: any ImmediateSchedulerType & AnyObject { lock.withLock { face } ?? face(makeScheduler()) }

  // MARK: submitting

  /// Submits an action; with a `place`, one that is inside of that too.
  final func submit(
    _ work: @escaping @Sendable () -> Void, inside place: TargetCore? = nil
  ) -> (action: PlainAction, isAccepted: Bool) {
    let waiting = PlainAction(work, inside: place)
    let isAccepted = waiting.submit { csched_target_submit(target, $0) } == 0
    if !isAccepted { waiting.dispose() }
    if isOnMain { MainCore.shared.submitted() }
    return (waiting, isAccepted)
  }

  final func submit(_ body: consuming ScheduledAction.Body, inside place: TargetCore? = nil) -> ScheduledAction {
    let waiting = ScheduledAction(body, inside: place)
    if waiting.submit(to: { csched_target_submit(target, $0) }) != 0 { waiting.dispose() }
    if isOnMain { MainCore.shared.submitted() }
    return waiting
  }

  /// Submits an action for a moment of `clock`.
  final func submit(
    _ body: consuming ScheduledAction.Body, at deadline: csched_time, on clock: csched_clock, leeway: Duration,
    inside place: TargetCore?
  ) -> ScheduledAction {
    let span = csched_time(max(0, leeway.saturatedNanoseconds))
    let action = ScheduledAction(body, inside: place, delayedOn: self)
    if action.submitTimer(to: { csched_target_submit_at_clock(target, clock, $0, deadline, span) }) != 0 {
      action.dispose()
    }
    if isOnMain, clock == CSCHED_CLOCK_MONOTONIC, deadline <= csched_now() { MainCore.shared.submitted() }
    return action
  }

  /// Submits an action for a moment of its virtual time.
  final func submit(
    _ body: consuming ScheduledAction.Body, at moment: Timeline.Moment, inside place: TargetCore?
  ) -> ScheduledAction {
    submit(
      body.preceded(by: moment.arrive), at: moment.tick, on: CSCHED_CLOCK_MONOTONIC, leeway: .zero, inside: place)
  }

  final func submit(
    _ timing: PeriodicTiming, inside place: TargetCore?, _ work: @escaping @Sendable () -> Void
  ) -> PeriodicAction {
    let action = PeriodicAction(timing, inside: place, on: self, work)
    action.start()
    if isOnMain, timing.startAfter <= .zero { MainCore.shared.submitted() }
    return action
  }

  // MARK: being current

  /// Calls `body` with this core's scheduler as the current one.
  final func run<Result>(_ body: () -> Result) -> Result { Self.run(body, inside: target) }

  /// The same by the target, which stays until then.
  static func run<Result>(_ body: () -> Result, inside target: UnsafeMutablePointer<csched_target>) -> Result {
    var inside = csched_target_inside()
    return withUnsafeMutablePointer(to: &inside) { inside in
      csched_target_enter(inside, target)
      defer { csched_target_leave(inside) }
      return body()
    }
  }
}
