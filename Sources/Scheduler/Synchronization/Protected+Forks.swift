internal import CScheduler

extension Protected {
  /// Returns this guard. From now on each fork holds its lock, so that a child never waits for a thread of the parent.
  /// Requires: the guard is a static, and no user code runs under its lock.
  ///
  /// - Parameter beforeOthers: whether a thread that owns this lock may lock others of these.
  package func heldInForks(beforeOthers: Bool = false) -> Self {
    csched_swift_hold_in_forks_(lock.pointer, beforeOthers)
    return self
  }
}
