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
}

/// Forwards each action to another scheduler through a closure.
final class ForwardingScheduler: SchedulerType {
  /// Calls `submit` once, with a closure that runs `action`. If `repeats`, the base scheduler calls that closure many times.
  typealias Admission =
    @Sendable (
      _ action: @escaping @Sendable () -> Void, _ repeats: Bool,
      _ submit: (@escaping @Sendable () -> Void) -> any Disposable
    ) -> any Disposable

  fileprivate let base: any SchedulerType
  private let admit: Admission
  private let counted = CountedClosure()

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
  /// Whether the time of this scheduler, without the wrappers of this module, is virtual.
  package var isVirtual: Bool { (unwrapped as? SchedulerTarget)?.core.timeline != nil }

  /// The innermost scheduler, without the wrappers of this module.
  var unwrapped: any ImmediateSchedulerType { (self as? ForwardingScheduler)?.base.unwrapped ?? self }
}
