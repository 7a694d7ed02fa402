internal import CScheduler

/// The namespace for functions that concern all schedulers.
public enum Schedulers {
  /// The scheduler whose action is running on this thread; `nil` outside any action. In nested actions it is the
  /// innermost scheduler.
  ///
  /// It is found by identity in every kind of action: compare it with `===`. In an action of ``ImmediateScheduler`` or
  /// ``CurrentThreadScheduler`` it is that scheduler. See ``enclosing`` for a scheduler on which to continue.
  ///
  /// ```swift
  /// let queue = SerialScheduler(name: "images")
  /// queue.schedule { assert(Schedulers.current === queue) }
  /// ```
  public static var current: (any ImmediateSchedulerType & AnyObject)? {
    guard let owner = csched_target_current()?.pointee.owner else { return nil }
    return scheduler(of: owner)
  }

  /// The innermost scheduler around the caller that has a thread, a queue or a clock: work can be scheduled there to
  /// continue later. If there is none, it is ``MainScheduler/instance`` on the main thread, and `nil` on other threads.
  ///
  /// ``ImmediateScheduler`` and ``CurrentThreadScheduler`` run their actions on the caller's thread, so they are
  /// skipped.
  ///
  /// ```swift
  /// queue.schedule {
  ///   CurrentThreadScheduler.instance.schedule { assert(Schedulers.enclosing === queue) }
  /// }
  /// ```
  public static var enclosing: (any SchedulerType & AnyObject)? {
    var next = csched_swift_innermost_frame_()  // walks this thread's context frames, from the innermost one outwards
    while let frame = next {
      let found = frame.pointee.target?.pointee.owner.map { scheduler(of: $0) }  // nil: not a Swift scheduler's frame
      // Skips both schedulers without a queue: `CurrentThreadScheduler` is no `SchedulerType`.
      if let found = found as? any SchedulerType & AnyObject, !(found is ImmediateScheduler) { return found }
      next = frame.pointee.outer
    }
    return MainCore.isOnThread ? MainScheduler.instance : nil
  }

  /// Whether a scheduler is current. Cheaper than ``current``.
  static var hasCurrent: Bool { csched_target_current()?.pointee.owner != nil }

  /// Returns the public scheduler of `owner`, which is the `TargetCore` of a C target.
  private static func scheduler(of owner: UnsafeMutableRawPointer) -> any ImmediateSchedulerType & AnyObject {
    Unmanaged<TargetCore>.fromOpaque(owner)._withUnsafeGuaranteedRef { $0.scheduler }
  }
}

extension Schedulers {
  /// How outstanding actions are treated when a scheduler is stopped or shut down.
  public enum StopPolicy: Hashable, Sendable {
    /// Queued and due actions run. Delayed actions that are not due are dropped.
    ///
    /// So do actions that wait in a serial queue or a limit whose target is stopped, or in queues and limits on these.
    /// What running actions submit after the stop is refused or dropped. A suspended queue keeps its actions; if it is
    /// resumed after its target has ended, they are dropped, or, on a pool, run on the thread that resumes the queue.
    case runOutstanding
    /// Actions that have not started are dropped.
    case dropOutstanding

    /// The C core's constant.
    var core: csched_stop_policy { self == .runOutstanding ? CSCHED_STOP_RUN : CSCHED_STOP_DROP }
  }
}

/// How soon work runs, compared to other ready work. Work of a lower priority may wait, but it always runs in the end.
public enum SchedulerPriority: Hashable, Sendable, CaseIterable {
  case high
  case `default`
  case low
  case background

  /// The C core's constant.
  var core: csched_priority {
    switch self {
    case .high: CSCHED_PRIORITY_HIGH
    case .default: CSCHED_PRIORITY_DEFAULT
    case .low: CSCHED_PRIORITY_LOW
    case .background: CSCHED_PRIORITY_BACKGROUND
    }
  }
}
