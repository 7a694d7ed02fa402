#if Combine
  #if canImport(Combine)
    public import Combine
  #else
    public import OpenCombine
  #endif
  public import Scheduler

  extension SchedulerType {
    /// This scheduler, as Combine's operators want one.
    ///
    /// ```swift
    /// let subscription = prices.debounce(for: .milliseconds(300), scheduler: queue.combine).sink { show($0) }
    /// ```
    public var combine: CombineScheduler { CombineScheduler(base: self) }
  }

  /// A view of any scheduler, real or virtual, that conforms to Combine's `Scheduler`.
  ///
  /// 1. Its time is the scheduler's own: monotonic, or virtual. Nothing runs early, and equal instants keep the order of submission.
  /// 2. A tolerance is passed on; `minimumTolerance` is zero.
  /// 3. What `schedule(after:interval:tolerance:options:_:)` returns cancels, and releases the closure before `cancel()` returns. As for every
  ///    disposable of ours, letting go of it cancels nothing: Combine's `AnyCancellable` does so. The ticks do not drift; those that are missed
  ///    become one.
  /// 4. A one-shot cannot be cancelled in Combine's protocol. So `receive(on:)`, `subscribe(on:)`, `debounce`, `throttle`, `delay` and `timeout`
  ///    are this module's own where the scheduler is of this type: what waits is cancelled with the pipeline, and is gone when `cancel()`
  ///    has returned. They keep the order, and lose nothing, on a scheduler that runs its actions side by side, too.
  /// 5. An action that a stopped scheduler refuses or drops is told of by `Schedulers.onDrop(_:)`; a pipeline then gets nothing more.
  public struct CombineScheduler: Scheduler, Sendable {
    /// The scheduler that does the work.
    public let base: any SchedulerType

    init(base: any SchedulerType) { self.base = base }

    /// What an action is to run with.
    public struct SchedulerOptions: Hashable, Sendable {
      /// How soon it runs, beside other work of a `ConcurrentScheduler`; nil: with that scheduler's priority. On every other scheduler it is
      /// the order of submission that counts, and this changes nothing.
      public var priority: SchedulerPriority?

      /// Makes options with that priority.
      public init(priority: SchedulerPriority? = nil) { self.priority = priority }
    }

    /// The present, on the scheduler's own clock.
    public var now: SchedulerTimeType { SchedulerTimeType(base.now) }

    /// Zero: no timer need be late.
    public var minimumTolerance: SchedulerTimeType.Stride { .zero }

    /// Schedules `action`.
    public func schedule(options: SchedulerOptions?, _ action: @escaping () -> Void) {
      // Combine's closures are not marked Sendable, and are sent to the scheduler by contract.
      nonisolated(unsafe) let action = action
      submit(options) { action() }
    }

    /// Schedules `action` for `date`, or up to `tolerance` later; at once where that has passed.
    public func schedule(
      after date: SchedulerTimeType, tolerance: SchedulerTimeType.Stride, options: SchedulerOptions?,
      _ action: @escaping () -> Void
    ) {
      nonisolated(unsafe) let action = action  // as above
      submit(at: date, tolerance: tolerance, options) { action() }
    }

    /// Schedules `action` for `date` and then once an `interval`, each time up to `tolerance` later, until it is cancelled. Ticks never
    /// overlap. On a scheduler whose caller would never go on (`ImmediateScheduler`) it stops the process with a message.
    ///
    /// - Returns: what cancels it.
    public func schedule(
      after date: SchedulerTimeType, interval: SchedulerTimeType.Stride, tolerance: SchedulerTimeType.Stride,
      options: SchedulerOptions?, _ action: @escaping () -> Void
    ) -> any Cancellable {
      nonisolated(unsafe) let action = action  // as above
      let timing = ActionTiming.every(
        interval.duration, after: now.distance(to: date).duration, tolerance: tolerance.duration)
      return DisposingCancellable(disposable: target(options).schedule(timing) { action() })
    }

    /// Schedules `action`, and returns what cancels it.
    @discardableResult
    func submit(_ options: SchedulerOptions?, _ action: @escaping @Sendable () -> Void) -> any Disposable {
      target(options).schedule(action)
    }

    /// Schedules `action` for `date`, and returns what cancels it.
    @discardableResult
    func submit(
      at date: SchedulerTimeType, tolerance: SchedulerTimeType.Stride = .zero, _ options: SchedulerOptions?,
      _ action: @escaping @Sendable () -> Void
    ) -> any Disposable {
      target(options).schedule(.at(date.time, tolerance: tolerance.duration), action)
    }

    /// Whether the caller is an action of the scheduler.
    var isCurrent: Bool {
      guard let current = Schedulers.current else { return false }
      if let waiting = base as? WaitingScheduler { return waiting.base as AnyObject === current }
      return base as AnyObject === current
    }

    func target(_ options: SchedulerOptions?) -> any SchedulerType {
      guard let priority = options?.priority else { return base }
      return (base as? ConcurrentScheduler)?.prioritized(priority) ?? base
    }
  }
#endif
