/// Why an action was dropped: a scheduler let go of it, and it will never begin.
///
/// What counts: an action that ends without having begun, and without having been disposed before. One that is disposed is cancelled, not
/// dropped, even if its scheduler ends at the same time. One that began is not dropped, whatever becomes of it. A periodic action is dropped when
/// its next tick is, a recursive one when its next step is.
public enum DropReason: Hashable, Sendable {
  /// It was let go of in `schedule` (what another thread lets go of meanwhile may count as ``stopped``): the scheduler, or its target, had been stopped or shut down; or the system had no thread or
  /// descriptor to keep the clock with that was asked for.
  case refused
  /// It had been taken, and waited: the scheduler was stopped by a policy that drops it, or before its time had come; was shut down; or ended
  /// with its last reference, as in virtual time. Or the closure of a ``CustomScheduler`` let go of it; or a thread ended inside of an action of
  /// ``CurrentThreadScheduler``. Or the process ended, and nothing had run the main loop since: see ``MainScheduler``.
  case stopped
}
