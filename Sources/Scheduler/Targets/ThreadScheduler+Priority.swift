internal import CScheduler

extension ThreadScheduler {
  /// How the system schedules the thread of a ``ThreadScheduler``: ``ThreadScheduler/init(name:stackSize:lateJobs:processors:priority:)``.
  ///
  /// If the process may not have the priority, the start throws ``SchedulerError/system(_:)``, and no thread remains. Darwin refuses all but
  /// ``inherited``.
  public enum Priority: Hashable, Sendable {
    /// The priority of the thread that starts it.
    case inherited
    /// A nice value from -20 to 19. A higher value gets less processor time. A value below that of the process needs a permission (`RLIMIT_NICE`).
    case nice(Int)
    /// Real time, from 1 to 99 on Linux. The thread runs before all threads without real time, until it sleeps. It needs a permission
    /// (`RLIMIT_RTPRIO`).
    case firstInFirstOut(Int)
    /// As ``firstInFirstOut(_:)``, but in turn with threads of equal priority.
    case roundRobin(Int)

    /// The C core's policy and priority.
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
