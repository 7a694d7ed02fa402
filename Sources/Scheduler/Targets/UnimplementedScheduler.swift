/// Reports every use: for a test of code that should need no scheduler, or not on the path that is tested.
///
/// ```swift
/// let model = Model(scheduler: UnimplementedScheduler(prefix: "Model"))
/// model.rename("a")  // stops with a message if this schedules anything
/// ```
///
/// 1. Each method of a scheduler's, and `now`, calls the handler once, with its own name, on the calling thread, before it returns.
/// 2. The default handler stops the process with the message. Where another one returns, no action runs or is kept; what is
///    returned does nothing when it is disposed; and `now` is 0.
/// 3. The message is the prefix, what was called, and what to do about it.
public struct UnimplementedScheduler: SchedulerType {
  private let prefix: String
  private let handler: @Sendable (String) -> Void

  /// Creates one.
  ///
  /// - Parameters:
  ///   - prefix: what the messages begin with, such as the name of what the scheduler was given to; may be empty.
  ///   - handler: is given the message. By default it stops the process.
  public init(
    prefix: String = "",
    handler: @escaping @Sendable (_ message: String) -> Void = { misuse("UnimplementedScheduler", $0) }
  ) {
    self.prefix = prefix
    self.handler = handler
  }

  public var now: MonotonicTime {
    report("now")
    return MonotonicTime(nanoseconds: 0)
  }

  @discardableResult
  public func schedule<State: Sendable>(
    _ state: State, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Cancelable {
    refuse("schedule(_:action:)")
  }

  @discardableResult
  public func schedule(_ action: @escaping @Sendable () -> Void) -> any Cancelable { refuse("schedule(_:)") }

  @discardableResult
  public func schedule<State: Sendable>(
    _ state: State, after delay: Duration, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Cancelable {
    refuse("schedule(_:after:action:), after \(delay),")
  }

  @discardableResult
  public func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Cancelable {
    refuse("schedule(after:_:), after \(delay),")
  }

  @discardableResult
  public func schedule(at instant: MonotonicTime, _ action: @escaping @Sendable () -> Void) -> any Cancelable {
    refuse("schedule(at:_:), at \(instant.nanoseconds) ns,")
  }

  @discardableResult
  public func schedule(
    after delay: Duration, tolerance: Duration, _ action: @escaping @Sendable () -> Void
  ) -> any Cancelable { refuse("schedule(after:tolerance:_:), after \(delay),") }

  @discardableResult
  public func schedule(
    at instant: MonotonicTime, tolerance: Duration, _ action: @escaping @Sendable () -> Void
  ) -> any Cancelable { refuse("schedule(at:tolerance:_:), at \(instant.nanoseconds) ns,") }

  @discardableResult
  public func schedule(
    at instant: WallTime, tolerance: Duration, _ action: @escaping @Sendable () -> Void
  ) -> any Cancelable { refuse("schedule(at:tolerance:_:), at \(instant.nanosecondsSince1970) ns since 1970,") }

  @discardableResult
  public func schedule(
    at instant: BootTime, tolerance: Duration, _ action: @escaping @Sendable () -> Void
  ) -> any Cancelable { refuse("schedule(at:tolerance:_:), at \(instant.nanoseconds) ns since the start,") }

  @discardableResult
  public func schedulePeriodic(_ timing: PeriodicTiming, action: @escaping @Sendable () -> Void) -> any Cancelable {
    refuse("schedulePeriodic(_:action:), every \(timing.period),")
  }

  func refuse(_ call: String) -> any Cancelable {
    report(call)
    return NopDisposable()
  }

  private func report(_ call: String) {
    let start = prefix.isEmpty ? "" : "\(prefix): "
    handler(
      "\(start)\(call) was called on an UnimplementedScheduler. "
        + "Give the code a scheduler that works, such as a TestScheduler, or see why it needs one here.")
  }
}

extension ImmediateSchedulerType {
  /// The scheduler that reports every use, if this is one: for methods that are made of others, so that it is their own name it is told.
  var unimplemented: UnimplementedScheduler? {
    if Self.self == UnimplementedScheduler.self { return self as? UnimplementedScheduler }
    return Self.self == AnyScheduler.self ? (self as? AnyScheduler)?.base as? UnimplementedScheduler : nil
  }
}
