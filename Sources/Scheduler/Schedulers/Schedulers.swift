internal import CScheduler

/// What concerns schedulers as such.
public enum Schedulers {
  /// The scheduler whose action is running on this thread, the innermost one; `nil` outside of any.
  ///
  /// It is found by identity, in every kind of action: `===` tells whether it is the one that you hold.
  ///
  /// ```swift
  /// let queue = SerialScheduler(name: "images")
  /// queue.schedule { assert(Schedulers.current === queue) }
  /// ```
  public static var current: (any ImmediateSchedulerType & AnyObject)? {
    guard let owner = csched_target_current()?.pointee.owner else { return nil }
    return Unmanaged<TargetCore>.fromOpaque(owner)._withUnsafeGuaranteedRef { $0.scheduler }
  }

  /// Whether some scheduler is current: cheaper than ``current``.
  static var hasCurrent: Bool { csched_target_current()?.pointee.owner != nil }
}
