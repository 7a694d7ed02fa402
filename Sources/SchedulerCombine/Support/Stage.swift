#if Combine
  #if canImport(Combine)
    public import Combine
  #else
    public import OpenCombine
  #endif
  internal import Scheduler

  /// An operator with one upstream: sends demand upstream, and events to the subscriber. Subclasses override `wanted`
  /// to request otherwise, and `receive` and `completed` to change the events.
  class Stage<Input, Output, Failure: Error>: Outlet<Output, Failure>, Subscriber, @unchecked Sendable {
    // Unchecked, as its superclass is.
    final let upstream = Upstream()

    final func receive(subscription: any Subscription) {
      if upstream.accept(subscription) { subscribed() }  // false: not needed, and cancelled by `accept`
    }

    /// Called once the upstream's subscription is accepted. Sends the subscriber its subscription.
    func subscribed() { start() }

    /// Receives a value. Returns no demand: the stage requests values through `upstream` only.
    func receive(_ input: Input) -> Subscribers.Demand { .none }

    /// Receives the upstream's completion.
    func completed(_ completion: Subscribers.Completion<Failure>) { finish(completion) }

    // `complete` returns false after a cancel or an earlier completion: this one is then ignored
    final func receive(completion: Subscribers.Completion<Failure>) { if upstream.complete() { completed(completion) } }

    override func wanted(_ demand: Subscribers.Demand) { upstream.request(demand) }  // at the subscriber's request

    override func ended() { upstream.cancel() }  // at the completion or a cancel
  }

  /// A subscriber to one of several upstreams of an operator.
  ///
  /// While the subscription exists there is a retain cycle: this inlet, its closures, the operator, the ``Upstream``,
  /// the subscription, this inlet. The end of the subscription breaks the cycle, because the ``Upstream`` then releases
  /// the subscription.
  final class Inlet<Input, Failure: Error>: Subscriber, @unchecked Sendable {
    // Unchecked, because the closures are not marked Sendable: by Combine's contract, an upstream makes one call at a
    // time.
    private let upstream: Upstream
    private let onValue: (Input) -> Void
    private let onEnd: (Subscribers.Completion<Failure>) -> Void

    init(
      _ upstream: Upstream, onValue: @escaping (Input) -> Void,
      onEnd: @escaping (Subscribers.Completion<Failure>) -> Void
    ) {
      self.upstream = upstream
      self.onValue = onValue
      self.onEnd = onEnd
    }

    func receive(subscription: any Subscription) { if upstream.accept(subscription) { upstream.requestStored() } }

    func receive(_ input: Input) -> Subscribers.Demand {
      onValue(input)
      return .none  // the operator requests through `upstream` only
    }

    func receive(completion: Subscribers.Completion<Failure>) { if upstream.complete() { onEnd(completion) } }
  }

  /// The publisher that this module's operators return.
  public struct OperatorPublisher<Output, Failure: Error>: Publisher {
    private let attach: (any Subscriber<Output, Failure>) -> Void

    /// Creates a publisher whose subscriptions are started by `attach`.
    init(_ attach: @escaping (any Subscriber<Output, Failure>) -> Void) { self.attach = attach }

    public func receive<Downstream: Subscriber>(subscriber: Downstream)
    where Downstream.Input == Output, Downstream.Failure == Failure { attach(subscriber) }
  }
#endif
