public import Dispatch
public import Scheduler

/// Runs its actions on a queue of Dispatch, for code that takes a scheduler and belongs to that queue.
///
/// ```swift
/// let camera = DispatchQueueScheduler(session.queue, isSerial: true)
/// let frames = source.observe(on: camera)
/// ```
///
/// 1. Actions go through `async` of the queue: in one order with its other blocks. Those of a concurrent queue have no order.
/// 2. In its actions `Schedulers.current` is ``scheduler``. After `dispose()` has returned, an action that had not started never starts.
/// 3. Delays count on the pool's timers, and submit to the queue when they end.
///
/// A queue that is made for this program alone is better a `SerialScheduler`, which needs no Dispatch.
public struct DispatchQueueScheduler: SchedulerType {
  /// The queue.
  public let queue: DispatchQueue
  /// Whether the queue runs one block at a time.
  public let isSerial: Bool
  /// The scheduler as a target, for a `SerialScheduler(target:)` on it.
  public let scheduler: CustomScheduler

  /// Creates a scheduler on a queue.
  ///
  /// - Parameters:
  ///   - queue: where actions run.
  ///   - isSerial: whether the queue runs one block at a time. Dispatch does not say.
  public init(_ queue: DispatchQueue, isSerial: Bool) {
    self.queue = queue
    self.isSerial = isSerial
    scheduler = CustomScheduler(name: queue.label) { work in queue.async(execute: work) }
  }

  public var now: MonotonicTime { scheduler.now }

  @discardableResult
  public func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable { scheduler.schedule(action) }

  @discardableResult
  public func schedule(_ timing: ActionTiming, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    scheduler.schedule(timing, action)
  }
}

extension DispatchQueueScheduler: CustomDebugStringConvertible {
  public var debugDescription: String {
    "DispatchQueueScheduler: \(isSerial ? "serial" : "concurrent"), \"\(queue.label)\""
  }
}
