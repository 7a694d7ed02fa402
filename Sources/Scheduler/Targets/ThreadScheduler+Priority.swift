internal import CScheduler

extension ThreadScheduler {
  /// How the system chooses a thread of one's own among those that could run: ``ThreadScheduler/init(name:stackSize:lateJobs:processors:priority:)``.
  ///
  /// What the process may not have is refused: the start throws ``SchedulerError/system(_:)``, and no thread is left. On Darwin all but ``inherited`` is.
  public enum Priority: Hashable, Sendable {
    /// As the thread that starts it.
    case inherited
    /// A nice value from -20 to 19: the higher, the less it gets. To go below that of the process needs a permission (`RLIMIT_NICE`).
    case nice(Int)
    /// Real time, from 1 to 99 on Linux: before all threads that are not, until it sleeps. It needs a permission (`RLIMIT_RTPRIO`).
    case firstInFirstOut(Int)
    /// The same, in turn with threads of equal priority.
    case roundRobin(Int)

    /// The core's two words for it.
    var core: (policy: csched_thread_policy, priority: Int32) {
      switch self {
      case .inherited: (CSCHED_POLICY_DEFAULT, 0)
      case .nice(let value): (CSCHED_POLICY_NICE, Int32(clamping: value))
      case .firstInFirstOut(let value): (CSCHED_POLICY_FIFO, Int32(clamping: value))
      case .roundRobin(let value): (CSCHED_POLICY_ROUND_ROBIN, Int32(clamping: value))
      }
    }
  }
}
