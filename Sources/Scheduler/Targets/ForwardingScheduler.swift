extension SchedulerType {
  /// A scheduler whose every action runs on this one, inside of `wrap`, which calls what it is given once.
  ///
  /// ```swift
  /// let measured = queue.wrapping { run in
  ///   let start = MonotonicTime.now
  ///   run()
  ///   record(start.duration(to: .now))
  /// }
  /// ```
  ///
  /// ``Schedulers/current`` stays this scheduler. An action that was disposed before its turn does not reach `wrap`.
  ///
  /// - Parameter wrap: called for each action, on the thread that runs it, with what runs the action.
  public func wrapping(_ wrap: @escaping @Sendable (_ run: () -> Void) -> Void) -> any SchedulerType {
    ForwardingScheduler(to: self) { action, _, submit in submit { wrap(action) } }
  }
}

/// Hands each action on to another scheduler, as a closure says.
final class ForwardingScheduler: SchedulerType {
  /// Calls `submit` once, with what runs `action`: again and again, if it `repeats`.
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
  /// Whether its time is virtual, as far as wrappers of this module are above it.
  package var isVirtual: Bool { (unwrapped as? SchedulerTarget)?.core.timeline != nil }

  /// The scheduler below the wrappers.
  var unwrapped: any ImmediateSchedulerType { (self as? ForwardingScheduler)?.base.unwrapped ?? self }
}
