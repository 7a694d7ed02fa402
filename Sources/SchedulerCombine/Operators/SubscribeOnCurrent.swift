#if Combine
  #if canImport(Combine)
    public import Combine
  #else
    public import OpenCombine
  #endif
  public import Scheduler

  extension Publisher {
    /// Subscribes on the caller's current scheduler, or else on a private background queue (ReactiveCocoa's subscription scheduler).
    ///
    /// So the source always sends from a known scheduler. The subscriber gets its subscription at once. If it cancels before the action runs,
    /// the action does not subscribe, and everything it kept is released.
    ///
    /// - Parameter scheduler: the scheduler that owns the private queue.
    public func subscribeOnCurrent(or scheduler: SubscriptionScheduler = .instance)
      -> OperatorPublisher<Output, Failure>
    {
      subscribe(on: scheduler.combine)
    }
  }
#endif
