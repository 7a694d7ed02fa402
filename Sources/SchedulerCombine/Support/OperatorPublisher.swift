#if Combine
  #if canImport(Combine)
    public import Combine
  #else
    public import OpenCombine
  #endif

  /// What an operator of this module returns.
  public struct OperatorPublisher<Output, Failure: Error>: Publisher {
    private let attach: (any Subscriber<Output, Failure>) -> Void

    /// Makes one that has `attach` begin a subscription.
    init(_ attach: @escaping (any Subscriber<Output, Failure>) -> Void) { self.attach = attach }

    public func receive<Downstream: Subscriber>(subscriber: Downstream)
    where Downstream.Input == Output, Downstream.Failure == Failure { attach(subscriber) }
  }
#endif
