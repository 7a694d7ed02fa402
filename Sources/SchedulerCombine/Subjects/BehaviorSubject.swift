#if Combine
  #if canImport(Combine)
    public import Combine
  #else
    public import OpenCombine
  #endif

  /// A subject that has a value: a new subscriber gets that, and then each that is sent.
  ///
  /// 1. All subscribers get the values in one order, however many threads send, one call at a time and none under a lock.
  /// 2. A value that nobody has asked for yet waits for the subscriber, and is not left out.
  /// 3. After the end a new subscriber gets the end alone; ``value`` stays the last one.
  public final class BehaviorSubject<Output, Failure: Error>: Subject {
    private let replay = ReplaySubject<Output, Failure>(capacity: 1, forgetsAtEnd: true)

    /// Makes one that has `value`.
    public init(_ value: Output) { replay.send(value) }

    /// The last value that was sent, or that it was made with.
    public var value: Output { replay.values[0] }

    public func send(_ value: Output) { replay.send(value) }

    public func send(completion: Subscribers.Completion<Failure>) { replay.send(completion: completion) }

    public func send(subscription: any Subscription) { replay.send(subscription: subscription) }

    public func receive<Downstream: Subscriber>(subscriber: Downstream)
    where Downstream.Input == Output, Downstream.Failure == Failure { replay.receive(subscriber: subscriber) }
  }

  // Unchecked, because the compiler does not take a class's conformance under a condition: all that it has is constant and Sendable then.
  extension BehaviorSubject: @unchecked Sendable where Output: Sendable {}
#endif
