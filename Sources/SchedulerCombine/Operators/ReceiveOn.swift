#if Combine
  #if canImport(Combine)
    public import Combine
  #else
    public import OpenCombine
  #endif
  internal import Scheduler

  extension Publisher {
    /// Delivers all events in actions of `scheduler`, in order, also where that runs actions side by side.
    ///
    /// Values are asked for as the subscriber asks. What waits is gone when `cancel()` has returned. Of much that waits the scheduler takes
    /// 64 events at a time, with its other work in between.
    public func receive(on scheduler: CombineScheduler, options: CombineScheduler.SchedulerOptions? = nil)
      -> OperatorPublisher<Output, Failure>
    {
      OperatorPublisher { subscribe(ReceiveOn($0, on: scheduler, options)) }
    }

    /// Delivers all events on the main thread: at once where they come there and nothing else waits or runs, else when it comes to them. The same
    /// as `receive(on: MainScheduler.instance.combine)`.
    public func deliverOnMain() -> OperatorPublisher<Output, Failure> {
      receive(on: SchedulerCombine.MainScheduler.instance.combine)
    }
  }

  /// Hands all that comes to the scheduler.
  class ReceiveOn<Input, Failure: Error>: ScheduledStage<Input, Input, Failure>, @unchecked Sendable {
    // Unchecked, as its superclass is.
    override func receive(_ input: Input) -> Subscribers.Demand {
      if push(input) { hand() }
      return .none
    }
  }
#endif
