// Names from before 1.0, for one version. `Migrating.md` has a row for each.

@available(*, deprecated, renamed: "SchedulerError")
public typealias BlockingError = SchedulerError

@available(*, deprecated, renamed: "SchedulerError")
public typealias DropReason = SchedulerError

@available(*, deprecated, renamed: "SchedulerError")
public typealias StartError = SchedulerError

@available(*, deprecated, renamed: "SchedulerError")
public typealias SourceError = SchedulerError

// Unavailable, not deprecated: `catch is DeadlockError` would be true of each reason.

@available(*, unavailable, message: "write SchedulerError.deadlock, or catch SchedulerError.deadlock")
public typealias DeadlockError = SchedulerError

@available(*, unavailable, message: "write SchedulerError.stopped, or catch SchedulerError.stopped")
public typealias StoppedError = SchedulerError

extension SchedulerError {
  /// Makes the error of a system call.
  @available(*, deprecated, renamed: "system(_:)")
  public init(code: Int32) { self = .system(code) }

  /// The system's error number; 0 where it is none.
  @available(*, deprecated, renamed: "systemError")
  public var code: Int32 { systemError ?? 0 }
}
