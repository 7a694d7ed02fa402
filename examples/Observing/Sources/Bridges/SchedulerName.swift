import Scheduler

extension Schedulers {
  /// What `scheduler` was called; its kind, such as `MainScheduler`, where it has no name. What metrics, log entries
  /// and spans call it.
  public static func name(of scheduler: any ImmediateSchedulerType) -> String {
    let name =
      switch scheduler {
      case let thread as ThreadScheduler: thread.name
      case let queue as SerialScheduler: queue.name
      case let workers as ConcurrentScheduler: workers.name
      case let custom as CustomScheduler: custom.name
      default: ""
      }
    return name.isEmpty ? "\(type(of: scheduler))" : name
  }

  /// The name of the scheduler whose action the caller runs in; `nil` outside of any.
  ///
  /// ``CurrentThreadScheduler`` and ``ImmediateScheduler`` run their actions wherever the caller is, so the scheduler
  /// around them is named, if there is one.
  public static var nameOfCurrent: String? { current.map { name(of: enclosing ?? $0) } }
}
