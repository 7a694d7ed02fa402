#if Combine
  #if canImport(Combine)
    public import Combine
  #else
    public import OpenCombine
  #endif

  /// A subject with a current value: a new subscriber gets that value, and then each later one.
  ///
  /// 1. All subscribers get the values in the same order, however many threads send. Calls never overlap, and never run
  ///    under a lock.
  /// 2. A value without demand waits for the subscriber, and is not dropped.
  /// 3. After the completion a new subscriber gets only the completion. ``value`` stays the final value.
  public final class BehaviorSubject<Output, Failure: Error>: Subject {
    // forgetsAtEnd: a subscriber after the completion gets no value. The buffer always holds one value, from `init` on.
    private let replay = ReplaySubject<Output, Failure>(capacity: 1, forgetsAtEnd: true)

    /// Creates a subject whose current value is `value`.
    public init(_ value: Output) { replay.send(value) }

    /// The most recent value, or the initial value.
    public var value: Output { replay.values[0] }

    public func send(_ value: Output) { replay.send(value) }

    public func send(completion: Subscribers.Completion<Failure>) { replay.send(completion: completion) }

    public func send(subscription: any Subscription) { replay.send(subscription: subscription) }

    public func receive<Downstream: Subscriber>(subscriber: Downstream)
    where Downstream.Input == Output, Downstream.Failure == Failure { replay.receive(subscriber: subscriber) }
  }

  // Unchecked, because a class cannot conform to Sendable conditionally. Its only property is constant, and Sendable if
  // `Output` is.
  extension BehaviorSubject: @unchecked Sendable where Output: Sendable {}
#endif
