#if Combine
  #if canImport(Combine)
    internal import Combine
  #else
    internal import OpenCombine
  #endif
  internal import Scheduler

  /// An operator with one upstream: asks it for what the subscriber asks for, and hands its events on. Subclasses change the one or the other.
  class Stage<Input, Output, Failure: Error>: Outlet<Output, Failure>, Subscriber, @unchecked Sendable {
    // Unchecked, as its superclass is.
    final let upstream = Upstream()

    final func receive(subscription: any Subscription) {
      if upstream.accept(subscription) { subscribed() }
    }

    /// Called once there is an upstream: hands the subscriber its subscription.
    func subscribed() { start() }

    /// The upstream's value. More is asked for by requests alone.
    func receive(_ input: Input) -> Subscribers.Demand { .none }

    /// The upstream's end.
    func completed(_ completion: Subscribers.Completion<Failure>) { finish(completion) }

    final func receive(completion: Subscribers.Completion<Failure>) { if upstream.complete() { completed(completion) } }

    override func wanted(_ demand: Subscribers.Demand) { upstream.request(demand) }

    override func ended() { upstream.cancel() }
  }
#endif
