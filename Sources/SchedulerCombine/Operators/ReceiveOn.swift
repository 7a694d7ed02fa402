#if Combine
  #if canImport(Combine)
    public import Combine
  #else
    public import OpenCombine
  #endif
  internal import Scheduler

  extension Publisher {
    /// Delivers all events in actions of `scheduler`, in order, even if the scheduler runs actions concurrently.
    ///
    /// The subscriber's demand is passed upstream. Waiting events are released when `cancel()` returns. The scheduler
    /// delivers at most 64 events at a time, and can run other work in between.
    public func receive(on scheduler: CombineScheduler, options: CombineScheduler.SchedulerOptions? = nil)
      -> OperatorPublisher<Output, Failure>
    {
      OperatorPublisher { subscribe(ReceiveOn($0, on: scheduler, options)) }
    }

    /// Delivers all events on the main thread.
    ///
    /// An event is delivered at once if it arrives on the main thread and no work waits or runs there. Otherwise the
    /// event is queued. A short form of `receive(on: MainScheduler.instance.combine)`.
    public func deliverOnMain() -> OperatorPublisher<Output, Failure> {
      receive(on: SchedulerCombine.MainScheduler.instance.combine)
    }
  }

  /// Queues all events, and delivers them in actions of the scheduler. ``ScheduledStage`` does the same with the
  /// completion.
  class ReceiveOn<Input, Failure: Error>: ScheduledStage<Input, Input, Failure>, @unchecked Sendable {
    // Unchecked, as its superclass is.
    override func receive(_ input: Input) -> Subscribers.Demand {  // a value from upstream
      if push(input) { scheduleDelivery() }  // false: the stage has ended, so the value is dropped
      return .none  // `wanted` of the superclass sends the subscriber's requests upstream
    }
  }
#endif
