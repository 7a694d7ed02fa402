#if Combine
  #if canImport(Combine)
    public import Combine
  #else
    public import OpenCombine
  #endif

  /// The publisher that this module's operators return.
  public struct OperatorPublisher<Output, Failure: Error>: Publisher {
    private let attach: (any Subscriber<Output, Failure>) -> Void

    /// Creates a publisher whose subscriptions are started by `attach`.
    init(_ attach: @escaping (any Subscriber<Output, Failure>) -> Void) { self.attach = attach }

    public func receive<Downstream: Subscriber>(subscriber: Downstream)
    where Downstream.Input == Output, Downstream.Failure == Failure { attach(subscriber) }
  }
#endif
