public import Scheduler

/// Reports every use: for a test of code that should need no scheduler, or not on the path that is tested.
///
/// ```swift
/// let model = Model(scheduler: UnimplementedScheduler(prefix: "Model"))
/// model.rename("a")  // stops with a message if this schedules anything
/// ```
///
/// 1. Each look at `now`, and each submission, calls the handler once, with what was asked for, on the calling thread, before it returns.
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
  public func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    report("schedule(_:)")
    return NopDisposable()
  }

  @discardableResult
  public func schedule(_ timing: ActionTiming, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    report("schedule(_:_:), \(timing),")
    return NopDisposable()
  }

  private func report(_ call: String) {
    let start = prefix.isEmpty ? "" : "\(prefix): "
    handler(
      "\(start)\(call) was called on an UnimplementedScheduler. "
        + "Give the code a scheduler that works, such as a TestScheduler, or see why it needs one here.")
  }
}

extension UnimplementedScheduler: CustomDebugStringConvertible {
  public var debugDescription: String { "UnimplementedScheduler: refuses each action" }
}
