extension SchedulerType {
  /// Returns a scheduler that runs each action on this scheduler, inside `wrap`. `wrap` must call its argument once.
  ///
  /// ```swift
  /// let measured = queue.wrapping { run in
  ///   let start = MonotonicTime.now
  ///   run()
  ///   record(start.duration(to: .now))
  /// }
  /// ```
  ///
  /// ``Schedulers/current`` remains this scheduler. An action that was disposed before its start does not reach `wrap`.
  ///
  /// - Parameter wrap: called for each action on the thread that runs it. Its argument runs the action.
  public func wrapping(_ wrap: @escaping @Sendable (_ run: () -> Void) -> Void) -> any SchedulerType {
    ForwardingScheduler(to: self) { action, _, submit in submit { wrap(action) } }
  }

  /// Returns a scheduler that runs each action on this scheduler, inside `wrap`, with the value that `capture` returned
  /// at the call of `schedule`.
  ///
  /// Use it for a context that belongs to a thread or a task. For task-local values, use ``carrying(_:)``.
  ///
  /// - Parameters:
  ///   - capture: called in each call of `schedule` and `perform`, on the caller's thread, in the caller's task.
  ///   - wrap: called for each action, and each tick, on the thread that runs it, with the captured value. It must call
  ///     `run` once.
  public func wrapping<Captured: Sendable>(
    capturing capture: @escaping @Sendable () -> Captured,
    _ wrap: @escaping @Sendable (_ captured: Captured, _ run: () -> Void) -> Void
  ) -> any SchedulerType {
    ForwardingScheduler(to: self) { action, _, submit in
      let captured = capture()
      return submit { wrap(captured, action) }
    }
  }

  /// Returns a scheduler that runs each action on this scheduler, with the value that `local` had where the action was
  /// scheduled.
  ///
  /// An action is not a task, and inherits no task-local values. Here it inherits one, as `Task { }` does. For several,
  /// call this several times.
  ///
  /// ```swift
  /// enum Request {
  ///   @TaskLocal static var id = 0
  /// }
  /// let images = ConcurrentScheduler(name: "images").carrying(Request.$id)
  /// Request.$id.withValue(7) {
  ///   images.schedule { print(Request.id) }  // 7
  /// }
  /// ```
  ///
  /// - Parameter local: the task-local, by its projected value. Each call of `schedule` and `perform` reads it once;
  ///   all ticks of a periodic action have that value. The value is released with the action.
  public func carrying<Value: Sendable>(_ local: TaskLocal<Value>) -> any SchedulerType {
    wrapping(capturing: { local.get() }) { value, run in local.withValue(value) { run() } }
  }
}

/// Forwards each action to a base scheduler. Before that, the closure `admit` may wrap the action.
final class ForwardingScheduler: SchedulerType {
  /// The type of `admit`. Calls `submit` once, with a closure that runs `action`, and returns the result of `submit`.
  /// `submit` schedules this closure on the base scheduler, which calls it many times if `repeats`.
  typealias Admission =
    @Sendable (
      _ action: @escaping @Sendable () -> Void, _ repeats: Bool,
      _ submit: (@escaping @Sendable () -> Void) -> any Disposable
    ) -> any Disposable

  fileprivate let base: any SchedulerType  // runs the actions
  private let admit: Admission
  private let counted = CountedClosure()  // for the diagnostic count of closures: counts `admit`

  init(to base: any SchedulerType, admit: @escaping Admission) {
    self.base = base
    self.admit = admit
  }

  var now: MonotonicTime { base.now }

  @discardableResult
  func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    admit(action, false) { base.schedule($0) }
  }

  @discardableResult
  func schedule(_ timing: ActionTiming, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    admit(action, timing.period != nil) { base.schedule(timing, $0) }
  }
}

extension ForwardingScheduler: CustomDebugStringConvertible {
  var debugDescription: String { "a wrapper of \(String(reflecting: base))" }
}

extension ImmediateSchedulerType {
  /// Whether this scheduler, or the one that its wrappers (`ForwardingScheduler`) forward to, is in virtual time.
  package var isVirtual: Bool { (unwrapped as? SchedulerTarget)?.core.timeline != nil }

  /// Whether this scheduler, or the one that its wrappers forward to, refuses actions if too many wait.
  var isBounded: Bool { (unwrapped as? SchedulerTarget)?.core.isBounded == true }

  /// The scheduler to which wrappers of this module (`ForwardingScheduler`) forward; this scheduler if it is no
  /// wrapper.
  var unwrapped: any ImmediateSchedulerType { (self as? ForwardingScheduler)?.base.unwrapped ?? self }
}
