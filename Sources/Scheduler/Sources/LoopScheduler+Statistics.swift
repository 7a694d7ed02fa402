internal import CScheduler

extension LoopScheduler {
  /// Totals of a scheduler's loop since it was made: see ``LoopScheduler/statistics``. Each value only grows.
  public struct Statistics: Hashable, Sendable {
    /// The number of actions that the loop has run or found disposed.
    ///
    /// Actions of serial schedulers on it, ticks and source handlers are included. The last batch, of 48 at most, is added when the next one starts.
    public let actions: UInt64
    /// The number of sleeps.
    public let sleeps: UInt64
    /// The total time asleep. It includes the current sleep, but no sleeps of another library's main loop on its behalf.
    public let idle: Duration
  }

  /// The totals of the scheduler's loop. Any thread may read them.
  ///
  /// The loop reads the clock before and after each sleep for them, and never for an action.
  public var statistics: Statistics {
    var found = csched_loop_statistics()
    csched_loop_get_statistics(OpaquePointer(core.target), &found)  // the loop's first member
    return Statistics(actions: found.jobs, sleeps: found.sleeps, idle: .nanoseconds(Int64(clamping: found.idle)))
  }
}
