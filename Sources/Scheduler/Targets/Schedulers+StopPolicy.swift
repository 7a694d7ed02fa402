internal import CScheduler

extension Schedulers {
  /// What becomes of the actions that are outstanding when a scheduler is stopped or shut down.
  public enum StopPolicy: Hashable, Sendable {
    /// Those that are queued or due run; those whose time has not come are dropped.
    ///
    /// A serial queue, or a limit, on what is stopped runs the batch that it has begun, which is at most 64 actions; its other actions are dropped. Wait for
    /// them first: ``ActionGroup``, ``SerialScheduler/sync(_:)``.
    case runOutstanding
    /// All that have not begun are dropped.
    case dropOutstanding

    var core: csched_stop_policy { self == .runOutstanding ? CSCHED_STOP_RUN : CSCHED_STOP_DROP }
  }
}
