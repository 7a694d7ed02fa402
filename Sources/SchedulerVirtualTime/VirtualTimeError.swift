public import Scheduler

/// Why a body in virtual time could not be brought to its end.
public enum VirtualTimeError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Nothing of it could run, and nothing waited for its time: no job, no sleep, and for as long as ``VirtualTime/Limits/patience`` nothing that another
  /// thread resumed.
  case stalled(at: MonotonicTime)
  /// It ran that many jobs, and found still more.
  case endless(jobs: Int)
  /// It was called inside of another virtual time.
  case nested
  /// The system has no thread to give.
  case noThread(SchedulerError)
  /// Another compiler than Swift 6.3's, or another system than Linux.
  case unavailable

  public var description: String {
    switch self {
    case .stalled(let instant):
      """
      the body has not ended, and nothing of it can run, \(instant.nanoseconds) ns after its beginning: it waits for something that nobody does. Is a \
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
