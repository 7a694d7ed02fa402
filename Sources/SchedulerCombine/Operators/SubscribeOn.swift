#if Combine
  #if canImport(Combine)
    public import Combine
  #else
    public import OpenCombine
  #endif
  public import Scheduler

  extension Publisher {
    /// Subscribes, and requests values, in actions of `scheduler`.
    ///
    /// The subscriber gets its subscription at once, and may request and cancel before the action runs. A cancelled
    /// action does not subscribe.
    /// A request made in an action of the scheduler is sent upstream at once.
    public func subscribe(on scheduler: CombineScheduler, options: CombineScheduler.SchedulerOptions? = nil)
      -> OperatorPublisher<Output, Failure>
    {
      OperatorPublisher { downstream in
        let stage = SubscribeOn(downstream, on: scheduler, options)
        stage.sendSubscription()
        stage.submitSubscription { subscribe(stage) }
      }
    }
  }

  /// Sends the subscription and the requests upstream in actions of the scheduler. Events are delivered on the thread
  /// that sends them.
  private final class SubscribeOn<Input, Failure: Error>: SingleUpstreamStage<Input, Input, Failure>,
    @unchecked Sendable
  {
    // Unchecked, as its superclass is.
    private let scheduler: CombineScheduler
    private let subscribing: StepRunner  // subscribes to the upstream on the scheduler
    private let requesting: StepRunner  // requests `pendingDemand` on the scheduler
    private var pendingDemand: Subscribers.Demand = .none  // requested by the downstream; under the lock

    init(
      _ downstream: any Subscriber<Input, Failure>, on scheduler: CombineScheduler,
      _ options: CombineScheduler.SchedulerOptions?
    ) {
      self.scheduler = scheduler
      subscribing = StepRunner(scheduler, options)
      requesting = StepRunner(scheduler, options)
      super.init(downstream)
    }

    /// Submits the action that calls `subscribe`, unless the downstream cancels before the action runs.
    func submitSubscription(_ subscribe: @escaping () -> Void) {
      nonisolated(unsafe) let subscribe = subscribe  // not Sendable, but called once, in the action
      subscribing.arm { [self] _ in if lock.withLock({ isLive }) { subscribe() } }
    }

    /// Called with the upstream's subscription: sends it the stored requests. Not `super`, which would send the
    /// downstream a second subscription.
    override func receiveSubscription() { upstream.requestStored() }

    /// Called when the downstream requests values: requests them upstream, in an action of the scheduler.
    override func requested(_ demand: Subscribers.Demand) {
      // No action is needed if the caller runs in one, nor before the upstream's subscription: `upstream` then only
      // stores the demand.
      if !upstream.isAccepted || scheduler.isCurrent { return super.requested(demand) }
      lock.withLock { pendingDemand += demand }
      requesting.arm { [self] _ in  // one action requests the sum of several requests
        upstream.request(
          lock.withLock {
            defer { pendingDemand = .none }
            return pendingDemand
          })
      }
      deliver()  // values that waited for demand
    }

    override func receiveValue(_ value: Input) { send(value) }  // from upstream

    override func ended() {  // at the completion or a cancel, without the lock
      super.ended()  // cancels the upstream
      subscribing.dispose()
      requesting.dispose()
    }
  }

  extension Publisher {
    /// Subscribes on the caller's current scheduler, or else on a private background queue (ReactiveCocoa's
    /// subscription scheduler).
    ///
    /// So the source always sends from a known scheduler. The subscriber gets its subscription at once. If it cancels
    /// before the action runs, the action does not subscribe, and the action's captures are released.
    ///
    /// - Parameter scheduler: the scheduler that owns the private queue.
    public func subscribeOnCurrent(or scheduler: SubscriptionScheduler = .instance)
      -> OperatorPublisher<Output, Failure>
    {
      subscribe(on: scheduler.combine)
    }
  }
#endif
