#if Combine
  #if canImport(Combine)
    internal import Combine
  #else
    internal import OpenCombine
  #endif
  internal import Scheduler

  /// An operator with one upstream: passes demand upstream and events downstream. Subclasses override either.
  class Stage<Input, Output, Failure: Error>: Outlet<Output, Failure>, Subscriber, @unchecked Sendable {
    // Unchecked, as its superclass is.
    final let upstream = Upstream()

    final func receive(subscription: any Subscription) {
      if upstream.accept(subscription) { subscribed() }
    }

    /// Called once the upstream's subscription is accepted. Passes the subscription to the subscriber.
    func subscribed() { start() }

    /// Receives a value. Returns no demand: only requests ask for more values.
    func receive(_ input: Input) -> Subscribers.Demand { .none }

    /// Receives the upstream's completion.
    func completed(_ completion: Subscribers.Completion<Failure>) { finish(completion) }

    final func receive(completion: Subscribers.Completion<Failure>) { if upstream.complete() { completed(completion) } }

    override func wanted(_ demand: Subscribers.Demand) { upstream.request(demand) }

    override func ended() { upstream.cancel() }
  }
#endif
