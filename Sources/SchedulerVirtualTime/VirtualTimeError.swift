public import Scheduler

/// The reason why a body in virtual time could not end.
public enum VirtualTimeError: Error, Hashable, Sendable, CustomStringConvertible {
  /// No job could run, and no job, sleep or action waited for its time. No other thread added work within
  /// ``VirtualTime/Limits/patience``.
  case stalled(at: MonotonicTime)
  /// The body ran this many jobs, ``VirtualTime/Limits/jobs``, without ending.
  case endless(jobs: Int)
  /// `withVirtualTime` was called inside another virtual time.
  case nested
  /// The system could not create a thread.
  case noThread(SchedulerError)
  /// The compiler is not Swift 6.3, or the system is not Linux.
  case unavailable

  public var description: String {
    switch self {
    case .stalled(let instant):
      """
      the body has not ended, and nothing of it can run, \(instant.nanoseconds) ns after its beginning: it waits for something that never happens. Is a \
      continuation never resumed, a stream never finished, or do two tasks wait for each other?
      """
    case .endless(let jobs):
      """
      the body has not ended after \(jobs) jobs. Does a task repeat something for ever? Cancel it, advance by a time instead of running all, or raise \
      the limit.
      """
    case .nested: "called in virtual time already. Use the one that there is."
    case .noThread(let error): "\(error)"
    case .unavailable: "not available here. It needs Swift 6.3 on Linux: there is VirtualTimeScheduler."
    }
  }
}
