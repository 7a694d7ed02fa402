#if Combine
  #if canImport(Combine)
    public import Combine
  #else
    public import OpenCombine
  #endif
  public import Scheduler

  extension SchedulerType {
    /// This scheduler as a ``CombineScheduler``, for Combine's operators.
    ///
    /// ```swift
    /// let subscription = prices.debounce(for: .milliseconds(300), scheduler: queue.combine).sink { show($0) }
    /// ```
    public var combine: CombineScheduler { CombineScheduler(base: self) }
  }

  /// A view of any scheduler, real or virtual, that conforms to Combine's `Scheduler`.
  ///
  /// 1. Its time is the scheduler's own: monotonic or virtual. No action runs early, and actions for the same instant
  ///    keep the order of submission.
  /// 2. The scheduler receives the tolerance; `minimumTolerance` is zero.
  /// 3. The result of `schedule(after:interval:tolerance:options:_:)` cancels the action, and releases the closure
  ///    before `cancel()` returns. Releasing the result does not cancel; releasing Combine's `AnyCancellable` does.
  ///    Ticks do not drift, and missed ticks become one.
  /// 4. Combine's protocol cannot cancel a one-shot action. So `receive(on:)`, `subscribe(on:)`, `debounce`,
  ///    `throttle`, `delay` and `timeout` are this module's own for this type of scheduler. Waiting actions and values
  ///    are cancelled with the pipeline, and are released when `cancel()` returns. The operators keep the order and
  ///    lose no event, even on a scheduler that runs actions concurrently.
  /// 5. An action that a stopped scheduler refuses or drops is reported to `Schedulers.onDrop(_:)`. The pipeline then
  ///    gets no more events.
  public struct CombineScheduler: Scheduler, Sendable {
    /// The scheduler that runs the actions.
    public let base: any SchedulerType
    init(base: any SchedulerType) { self.base = base }

    /// Options for running an action.
    public struct SchedulerOptions: Hashable, Sendable {
      /// The priority among the work of a `ConcurrentScheduler`; nil means that scheduler's priority. Every other
      /// scheduler ignores the priority, and runs actions in the order of submission.
      public var priority: SchedulerPriority?

      /// Creates options with a priority.
      public init(priority: SchedulerPriority? = nil) { self.priority = priority }
    }

    /// The current time on the scheduler's own clock.
    public var now: SchedulerTimeType { SchedulerTimeType(base.now) }

    /// Zero: a timer needs no tolerance.
    public var minimumTolerance: SchedulerTimeType.Stride { .zero }

    /// Schedules `action`.
    public func schedule(options: SchedulerOptions?, _ action: @escaping () -> Void) {
      // Combine's closures are not marked Sendable; its contract allows sending them to the scheduler.
      nonisolated(unsafe) let action = action
      submit(options) { action() }
    }

    /// Schedules `action` for `date`, or up to `tolerance` later; at once if `date` has passed.
    public func schedule(
      after date: SchedulerTimeType, tolerance: SchedulerTimeType.Stride, options: SchedulerOptions?,
      _ action: @escaping () -> Void
    ) {
      nonisolated(unsafe) let action = action  // Combine's contract, as above
      submit(at: date, tolerance: tolerance, options) { action() }
    }

    /// Schedules `action` for `date`, and then once per `interval`, each time up to `tolerance` later, until it is
    /// cancelled.
    ///
    /// Ticks never overlap. On a scheduler that would block the caller for ever (`ImmediateScheduler`), the process
    /// stops with a message.
    ///
    /// - Returns: a cancellable for the action.
    public func schedule(
      after date: SchedulerTimeType, interval: SchedulerTimeType.Stride, tolerance: SchedulerTimeType.Stride,
      options: SchedulerOptions?, _ action: @escaping () -> Void
    ) -> any Cancellable {
      nonisolated(unsafe) let action = action  // Combine's contract, as above
      let timing = ActionTiming.every(  // `ActionTiming` counts the first tick from now
        interval.duration, after: now.distance(to: date).duration, tolerance: tolerance.duration)
      return DisposingCancellable(disposable: target(options).schedule(timing) { action() })
    }

    /// Schedules `action`, and returns a disposable that cancels it.
    @discardableResult
    func submit(_ options: SchedulerOptions?, _ action: @escaping @Sendable () -> Void) -> any Disposable {
      target(options).schedule(action)
    }

    /// Schedules `action` for `date`, and returns a disposable that cancels it.
    @discardableResult
    func submit(
      at date: SchedulerTimeType, tolerance: SchedulerTimeType.Stride = .zero, _ options: SchedulerOptions?,
      _ action: @escaping @Sendable () -> Void
    ) -> any Disposable {
      target(options).schedule(.at(date.time, tolerance: tolerance.duration), action)
    }

    /// Whether the caller runs in an action of `base`. A ``WaitingScheduler`` is never current itself: then compares
    /// the scheduler that it wraps.
    var isCurrent: Bool {
      guard let current = Schedulers.current else { return false }
      if let waiting = base as? WaitingScheduler { return waiting.base as AnyObject === current }
      return base as AnyObject === current
    }

    /// Returns the scheduler that runs actions with `options`: `base`, or a view of it with the given priority.
    func target(_ options: SchedulerOptions?) -> any SchedulerType {
      guard let priority = options?.priority else { return base }
      return (base as? ConcurrentScheduler)?.prioritized(priority) ?? base  // other schedulers ignore the priority
    }
  }

  extension ImmediateSchedulerType {
    /// This scheduler as a ``CombineScheduler``, for Combine's operators.
    ///
    /// If the scheduler has no timers (`CurrentThreadScheduler`), scheduling for later blocks the caller until then, as
    /// on `ImmediateScheduler`.
    /// A periodic action stops the process with a message there.
    public var combine: CombineScheduler {
      CombineScheduler(base: self as? any SchedulerType ?? WaitingScheduler(base: self))
    }
  }

  /// Adds delays to a scheduler without timers: the caller sleeps until the action is due, and then submits it.
  final class WaitingScheduler: SchedulerType {
    let base: any ImmediateSchedulerType
    init(base: any ImmediateSchedulerType) { self.base = base }
    var now: MonotonicTime { .now }

    @discardableResult
    func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable { base.schedule(action) }

    @discardableResult
    func schedule(_ timing: ActionTiming, _ action: @escaping @Sendable () -> Void) -> any Disposable {
      // blocks the caller until the action is due; stops the process if the action is periodic
      SchedulerCombine.ImmediateScheduler.instance.schedule(timing) {}
      return base.schedule(action)
    }
  }
#endif
