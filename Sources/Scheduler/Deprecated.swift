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
  ///
  /// - Parameter code: the system's error number.
  @available(*, deprecated, renamed: "system(_:)")
  public init(code: Int32) { self = .system(code) }

  /// The system's error number; 0 where it is none.
  @available(*, deprecated, renamed: "systemError")
  public var code: Int32 { systemError ?? 0 }
}

@available(*, deprecated, renamed: "ThreadScheduler.Group")
public typealias ThreadSchedulerGroup = ThreadScheduler.Group

@available(*, deprecated, renamed: "ThreadScheduler.Priority")
public typealias ThreadPriority = ThreadScheduler.Priority

@available(*, deprecated, renamed: "ThreadScheduler.LateJobPolicy")
public typealias LateJobPolicy = ThreadScheduler.LateJobPolicy

@available(*, deprecated, renamed: "ThreadScheduler.Confined")
public typealias Confined<Value> = ThreadScheduler.Confined<Value>

@available(*, deprecated, renamed: "Schedulers.StopPolicy")
public typealias StopPolicy = Schedulers.StopPolicy

@available(*, deprecated, renamed: "CompositeDisposable.DisposeKey")
public typealias DisposeKey = CompositeDisposable.DisposeKey

@available(*, deprecated, renamed: "UnfairLock.Condition")
public typealias Condition = UnfairLock.Condition

@available(*, deprecated, renamed: "SchedulerClock")
public typealias VirtualClock<Converter: VirtualTimeConverter> = SchedulerClock
