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
      OperatorPublisher { subscribe(ReceiveOn($0, deliveringOn: scheduler, options)) }
    }

    /// Delivers all events on the main thread.
    ///
    /// An event is delivered at once if it arrives on the main thread and no work waits or runs there. Otherwise the
    /// event is queued. A short form of `receive(on: MainScheduler.instance.combine)`.
    public func deliverOnMain() -> OperatorPublisher<Output, Failure> {
      receive(on: SchedulerCombine.MainScheduler.instance.combine)
    }
  }

  /// Sends each event from upstream, in actions of the scheduler. The superclass does the same with the completion.
  private final class ReceiveOn<Input, Failure: Error>: SingleUpstreamStage<Input, Input, Failure>, @unchecked Sendable
  {
    // Unchecked, as its superclass is.
    override func receiveValue(_ value: Input) { send(value) }
  }
#endif
