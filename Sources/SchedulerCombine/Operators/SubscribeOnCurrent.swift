#if Combine
  #if canImport(Combine)
    public import Combine
  #else
    public import OpenCombine
  #endif
  public import Scheduler

  extension Publisher {
    /// Subscribes where the caller is, if some scheduler is current there, and else on a private queue in the background: so values are sent on a
    /// known scheduler from the first (ReactiveCocoa's subscription scheduler).
    ///
    /// The subscriber has its subscription at once. One that is cancelled before its turn has come does not subscribe, and nothing of it is kept.
    ///
    /// - Parameter scheduler: whose private queue it is.
    public func subscribeOnCurrent(or scheduler: SubscriptionScheduler = .instance)
      -> OperatorPublisher<Output, Failure>
    {
      subscribe(on: scheduler.combine)
    }
  }
#endif
