internal import CScheduler

extension Schedulers {
  /// How outstanding actions are treated when a scheduler is stopped or shut down.
  public enum StopPolicy: Hashable, Sendable {
    /// Queued and due actions run. Delayed actions whose time has not come are dropped.
    ///
    /// A serial queue or a limit whose target is stopped finishes the batch that it has started, at most 64 actions. Its other actions are dropped.
    /// Wait for them first: ``ActionGroup``, ``SerialScheduler/sync(_:)``.
    case runOutstanding
    /// Actions that have not started are dropped.
    case dropOutstanding

    var core: csched_stop_policy { self == .runOutstanding ? CSCHED_STOP_RUN : CSCHED_STOP_DROP }
  }
}
