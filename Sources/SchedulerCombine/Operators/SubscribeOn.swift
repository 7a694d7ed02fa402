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
    /// The subscriber gets its subscription at once, and may request and cancel before the action runs. A cancelled action does not subscribe.
    /// A request made in an action of the scheduler is sent upstream at once.
    public func subscribe(on scheduler: CombineScheduler, options: CombineScheduler.SchedulerOptions? = nil)
      -> OperatorPublisher<Output, Failure>
    {
      OperatorPublisher { downstream in
        let stage = SubscribeOn(downstream, on: scheduler, options)
        stage.start()  // sends the subscriber its subscription at once
        stage.begin { subscribe(stage) }
      }
    }
  }

  /// Sends the subscription and the requests upstream in actions of the scheduler. Events are delivered on the thread that sends them.
  private final class SubscribeOn<Input, Failure: Error>: Stage<Input, Input, Failure>, @unchecked Sendable {
    // Unchecked, as its superclass is.
    private let place: CombineScheduler  // the scheduler of the actions
    private let subscription: Activation  // the action that subscribes
    private let requests: Activation  // the action that requests `pendingDemand`
    private var pendingDemand: Subscribers.Demand = .none  // for the action of `requests`; under the lock

    init(
      _ downstream: any Subscriber<Input, Failure>, on place: CombineScheduler,
      _ options: CombineScheduler.SchedulerOptions?
    ) {
      self.place = place
      subscription = Activation(place, options)
      requests = Activation(place, options)
      super.init(downstream)
    }

    /// Submits the action that subscribes upstream, unless the subscriber cancels before.
    func begin(_ subscribe: @escaping () -> Void) {
      nonisolated(unsafe) let subscribe = subscribe  // called once, in the action
      subscription.arm { [self] _ in if lock.withLock({ isLive }) { subscribe() } }
    }

    /// Sends the stored requests upstream. Not `super`: the subscriber has its subscription already.
    override func subscribed() { upstream.requestStored() }

    override func wanted(_ demand: Subscribers.Demand) {  // the subscriber has requested more
      // Without an upstream subscription, `request` only stores the demand. In an action of the scheduler no other action is needed.
      if !upstream.isAccepted || place.isCurrent { return upstream.request(demand) }
      lock.withLock { pendingDemand += demand }
      requests.arm { [self] _ in  // one action requests the sum of several requests
        upstream.request(
          lock.withLock {
            defer { pendingDemand = .none }
            return pendingDemand
          })
      }
    }

    override func receive(_ input: Input) -> Subscribers.Demand {  // a value from upstream
      send(input)
      return .none
    }

    override func ended() {  // at the completion or a cancel, without the lock
      super.ended()
      subscription.dispose()
      requests.dispose()
    }
  }

  extension Publisher {
    /// Subscribes on the caller's current scheduler, or else on a private background queue (ReactiveCocoa's subscription scheduler).
    ///
    /// So the source always sends from a known scheduler. The subscriber gets its subscription at once. If it cancels before the action runs,
    /// the action does not subscribe, and the action's captures are released.
    ///
    /// - Parameter scheduler: the scheduler that owns the private queue.
    public func subscribeOnCurrent(or scheduler: SubscriptionScheduler = .instance)
      -> OperatorPublisher<Output, Failure>
    {
      subscribe(on: scheduler.combine)
    }
  }
#endif
