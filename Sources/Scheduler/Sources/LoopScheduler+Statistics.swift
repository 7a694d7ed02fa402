internal import CScheduler

extension LoopScheduler {
  /// What the loop of a scheduler has done since it was made: ``LoopScheduler/statistics``. Each figure only grows.
  public struct Statistics: Hashable, Sendable {
    /// The actions that it has run or found disposed, those of serial schedulers on it, ticks and handlers of sources among them; but for its last
    /// batch, of 48 at the most, until the next one begins.
    public let actions: UInt64
    /// How often it has slept.
    public let sleeps: UInt64
    /// How long it has slept, the present sleep included; not what another library's main loop has slept for it.
    public let idle: Duration
  }

  /// What its loop has done. It costs the loop a look at the clock before and after each sleep, and none for an action. Any thread.
  public var statistics: Statistics {
    var found = csched_loop_statistics()
    csched_loop_get_statistics(OpaquePointer(core.target), &found)  // the loop's first member
    return Statistics(actions: found.jobs, sleeps: found.sleeps, idle: .nanoseconds(Int64(clamping: found.idle)))
  }
}
