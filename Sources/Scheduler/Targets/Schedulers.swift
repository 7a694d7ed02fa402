internal import CScheduler

/// What concerns schedulers as such.
public enum Schedulers {
  /// The scheduler whose action is running on this thread, the innermost one; `nil` outside of any.
  ///
  /// It is found by identity, in every kind of action: `===` tells whether it is the one that you hold. In an action of
  /// ``ImmediateScheduler`` or ``CurrentThreadScheduler`` it is that one: see ``enclosing`` for where to go on.
  ///
  /// ```swift
  /// let queue = SerialScheduler(name: "images")
  /// queue.schedule { assert(Schedulers.current === queue) }
  /// ```
  public static var current: (any ImmediateSchedulerType & AnyObject)? {
    guard let owner = csched_target_current()?.pointee.owner else { return nil }
    return scheduler(of: owner)
  }

  /// Where work can go on, and come back later: the innermost scheduler around the caller that has a thread, a queue or a clock;
  /// ``MainScheduler/instance`` on the main thread outside of any; else `nil`.
  ///
  /// ``ImmediateScheduler`` and ``CurrentThreadScheduler`` run their actions wherever the caller is, so they are passed over.
  ///
  /// ```swift
  /// queue.schedule {
  ///   CurrentThreadScheduler.instance.schedule { assert(Schedulers.enclosing === queue) }
  /// }
  /// ```
  public static var enclosing: (any SchedulerType & AnyObject)? {
    var next = csched_swift_innermost_()
    while let inside = next {
      let found = inside.pointee.target?.pointee.owner.map { scheduler(of: $0) }
      if let found = found as? any SchedulerType & AnyObject, !(found is ImmediateScheduler) { return found }
      next = inside.pointee.outer
    }
    return MainCore.isHere ? MainScheduler.instance : nil
  }

  /// Whether some scheduler is current: cheaper than ``current``.
  static var hasCurrent: Bool { csched_target_current()?.pointee.owner != nil }

  private static func scheduler(of owner: UnsafeMutableRawPointer) -> any ImmediateSchedulerType & AnyObject {
    Unmanaged<TargetCore>.fromOpaque(owner)._withUnsafeGuaranteedRef { $0.scheduler }
  }
}
