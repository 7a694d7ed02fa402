#if Combine
  #if canImport(Combine)
    internal import Combine
  #else
    internal import OpenCombine
  #endif
  internal import Scheduler

  /// A subscriber to one of several upstreams of an operator.
  ///
  /// It keeps the operator alive through its closures; the operator keeps only the ``Upstream``. The retain cycle lasts as long as the subscription.
  final class Inlet<Input, Failure: Error>: Subscriber, @unchecked Sendable {
    // Unchecked, because the closures are not marked Sendable: by Combine's contract, an upstream makes one call at a time.
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

    func receive(subscription: any Subscription) { if upstream.accept(subscription) { upstream.requestEarly() } }

    func receive(_ input: Input) -> Subscribers.Demand {
      onValue(input)
      return .none
    }

    func receive(completion: Subscribers.Completion<Failure>) { if upstream.complete() { onEnd(completion) } }
  }
#endif
