public import Dispatch
public import Scheduler

/// Runs its actions on a queue of Dispatch, for code that takes a scheduler and must run on that queue.
///
/// ```swift
/// let camera = DispatchQueueScheduler(session.queue, isSerial: true)
/// let frames = source.observe(on: camera)
/// ```
///
/// 1. Each action is a block that `queue.async` submits. A serial queue runs it in order with its other blocks, a
///    concurrent queue in no order.
/// 2. In its actions `Schedulers.current` is ``scheduler``. After `dispose()` has returned, an action that had not
///    started never starts.
/// 3. A delayed action waits on a timer of the pool, which submits it to the queue when it is due.
///
/// For a queue of your own, prefer a `SerialScheduler`, which needs no Dispatch.
public struct DispatchQueueScheduler: SchedulerType {
  /// The queue.
  public let queue: DispatchQueue
  /// Whether the queue runs one block at a time.
  public let isSerial: Bool
  /// The scheduler that submits to the queue. A `SerialScheduler(target:)` can target it.
  public let scheduler: CustomScheduler

  /// Creates a scheduler on a queue.
  ///
  /// - Parameters:
  ///   - queue: where actions run.
  ///   - isSerial: whether the queue runs one block at a time. The caller must know it: Dispatch has no function that
  ///     returns this.
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
