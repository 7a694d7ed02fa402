public import Scheduler

/// A scheduler that reports every use and runs nothing: for tests of code that should not use its scheduler, at least
/// on the tested path.
///
/// ```swift
/// let model = Model(scheduler: UnimplementedScheduler(prefix: "Model"))
/// model.rename("a")  // stops with a message if this schedules anything
/// ```
///
/// 1. Each read of `now`, and each submission, calls the handler once with a message, on the calling thread, before it
///    returns.
/// 2. The default handler stops the process with the message. If your own handler returns, the action is released and
///    never runs, the returned disposable does nothing, and `now` is 0.
/// 3. The message is the prefix, the name of the call, and advice.
public struct UnimplementedScheduler: SchedulerType {
  private let prefix: String
  private let handler: @Sendable (String) -> Void

  /// Creates a scheduler that reports each use.
  ///
  /// - Parameters:
  ///   - prefix: the start of each message, such as the name of the object that receives the scheduler; may be empty.
  ///   - handler: called with the message. The default one stops the process.
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

  /// Calls the handler with a message. `call`: the function that was called.
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
