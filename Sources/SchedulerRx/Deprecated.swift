public import Scheduler

// Names from before 1.0, kept for one version. `Migrating.md` has a row for each.

@available(*, deprecated, renamed: "SchedulerError")
public typealias BlockingError = SchedulerError
@available(*, deprecated, renamed: "SchedulerError")
public typealias DropReason = SchedulerError
@available(*, deprecated, renamed: "SchedulerError")
public typealias StartError = SchedulerError
@available(*, deprecated, renamed: "SchedulerError")
public typealias SourceError = SchedulerError

// Unavailable, not deprecated: these were separate error types. As aliases, `catch is DeadlockError` would match every `SchedulerError`.

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

  /// The system's error number; 0 if the error is not from the system.
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

@available(*, deprecated, renamed: "MonotonicTime")
public typealias MonotonicTimeConverter = MonotonicTime
@available(*, deprecated, renamed: "SchedulerClock")
public typealias VirtualClock<Converter> = SchedulerClock
@available(*, deprecated, renamed: "ActionTiming")
public typealias PeriodicTiming = ActionTiming

extension ActionTiming {
  @available(*, deprecated, renamed: "every(_:after:tolerance:pace:jitter:)")
  public init(
    startAfter: Duration? = nil, every period: Duration, tolerance: Duration = .zero, pace: Pace = .coalescing,
    jitter: Duration = .zero
  ) { self = .every(period, after: startAfter, tolerance: tolerance, pace: pace, jitter: jitter) }

  /// How late ticks are handled.
  @available(*, deprecated, message: "write .coalescing, .catchingUp or .skipping as the pace")
  public enum LateTicks: Hashable, Sendable { case coalesce, catchUp, skip }
}

extension ActionTiming.Pace {
  @available(*, deprecated, message: "write .coalescing, .catchingUp or .skipping")
  public static func fixedRate(late: ActionTiming.LateTicks) -> Self {
    switch late {
    case .coalesce: .coalescing
    case .catchUp: .catchingUp
    case .skip: .skipping
    }
  }
}

@available(*, deprecated, renamed: "ContinuousClock.Instant")
public typealias BootTime = ContinuousClock.Instant

extension SchedulerType {
  @available(*, deprecated, message: "write schedule(.after(delay, tolerance: tolerance)) { … }")
  @discardableResult
  public func schedule(
    after delay: Duration, tolerance: Duration, _ action: @escaping @Sendable () -> Void
  ) -> any Disposable { schedule(.after(delay, tolerance: tolerance), action) }

  @available(*, deprecated, message: "write schedule(.at(instant, tolerance: tolerance)) { … }")
  @_disfavoredOverload
  @discardableResult
  public func schedule(
    at instant: MonotonicTime, tolerance: Duration = .zero, _ action: @escaping @Sendable () -> Void
  ) -> any Disposable { schedule(.at(instant, tolerance: tolerance), action) }

  @available(*, deprecated, message: "write schedule(.at(wall: instant, tolerance: tolerance)) { … }")
  @_disfavoredOverload
  @discardableResult
  public func schedule(
    at instant: WallTime, tolerance: Duration = .zero, _ action: @escaping @Sendable () -> Void
  ) -> any Disposable { schedule(.at(wall: instant, tolerance: tolerance), action) }

  @available(*, deprecated, message: "write schedule(.at(continuous: instant, tolerance: tolerance)) { … }")
  @_disfavoredOverload
  @discardableResult
  public func schedule(
    at instant: ContinuousClock.Instant, tolerance: Duration = .zero, _ action: @escaping @Sendable () -> Void
  ) -> any Disposable { schedule(.at(continuous: instant, tolerance: tolerance), action) }

  @available(*, deprecated, message: "write schedule(.every(period, after: delay, tolerance: tolerance)) { … }")
  @discardableResult
  public func schedule(
    after delay: Duration? = nil, repeating period: Duration, tolerance: Duration = .zero,
    _ action: @escaping @Sendable () -> Void
  ) -> any Disposable { schedule(.every(period, after: delay, tolerance: tolerance), action) }

  @available(*, deprecated, renamed: "schedule(_:_:)")
  @discardableResult
  public func schedulePeriodic(_ timing: ActionTiming, action: @escaping @Sendable () -> Void) -> any Disposable {
    schedule(timing, action)
  }

  @available(*, deprecated, message: "write schedule(.every(period)) { … }")
  @discardableResult
  public func schedulePeriodic(_ period: Duration, action: @escaping @Sendable () -> Void) -> any Disposable {
    schedule(.every(period), action)
  }
}

/// Any scheduler, under one type.
@available(*, deprecated, message: "write any SchedulerType")
public final class AnyScheduler: SchedulerType {
  /// The scheduler that runs the actions.
  public let base: any SchedulerType

  /// Creates a scheduler that forwards every call to `base`.
  public init(_ base: any SchedulerType) { self.base = base }

  public var now: MonotonicTime { base.now }

  @discardableResult
  public func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable { base.schedule(action) }

  @discardableResult
  public func schedule(_ timing: ActionTiming, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    base.schedule(timing, action)
  }
}

/// Runs actions on another scheduler, in a group of its own.
@available(*, deprecated, message: "write ActionGroup().scheduler(on: scheduler), and ask the group")
public final class GroupScheduler: SchedulerType {
  /// The group that the actions are in.
  public let group = ActionGroup()
  private let base: any SchedulerType

  /// Makes a scheduler whose actions run on `base`, in a group of its own.
  public init(on base: any SchedulerType) { self.base = group.scheduler(on: base) }  // adds each action to `group`

  public var now: MonotonicTime { base.now }

  /// How many of the group's actions wait or run.
  public var pendingCount: Int { group.pendingCount }

  /// Whether none of the group's actions waits or runs.
  public var isIdle: Bool { group.isIdle }

  /// Cancels all of the group's actions that have not started.
  public func cancelAll() { group.cancelAll() }

  /// Waits until the group is idle, at most `timeout`. Returns whether the group is idle.
  @available(*, noasync, message: "it blocks a thread of Swift's own: use await group.waitForAll()")
  public func drain(timeout: Duration) -> Bool { group.wait(for: timeout) }

  @discardableResult
  public func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable { base.schedule(action) }

  @discardableResult
  public func schedule(_ timing: ActionTiming, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    base.schedule(timing, action)
  }
}

@available(*, deprecated, renamed: "SchedulerStatistics.Loop")
public typealias LoopStatistics = SchedulerStatistics.Loop

extension SchedulerStatistics {
  @available(*, deprecated, renamed: "loop.actions")
  public var actions: UInt64 { loop?.actions ?? 0 }

  @available(*, deprecated, renamed: "loop.sleeps")
  public var sleeps: UInt64 { loop?.sleeps ?? 0 }

  @available(*, deprecated, renamed: "loop.idle")
  public var idle: Duration { loop?.idle ?? .zero }
}

extension SchedulerTarget {
  @available(*, deprecated, renamed: "statistics.work")
  public final var workStatistics: SchedulerStatistics.Work? { statistics.work }
}

@available(*, deprecated, renamed: "SchedulerTarget")
public typealias BarrierScheduler = SchedulerTarget
