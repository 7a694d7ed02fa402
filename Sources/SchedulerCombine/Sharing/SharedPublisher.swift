#if Combine
  #if canImport(Combine)
    public import Combine
  #else
    public import OpenCombine
  #endif
  internal import Scheduler

  extension Publisher {
    /// Subscribes once, now, in an action of `scheduler`. Each subscriber gets all earlier values, and then the later
    /// ones (ReactiveCocoa's `startEagerlyWithScheduler:`).
    public func startEagerly(on scheduler: CombineScheduler) -> SharedPublisher<Output, Failure> {
      let shared = startLazily(on: scheduler)
      shared.connect()
      return shared
    }

    /// Like `startEagerly(on:)`, but subscribes when the first subscriber arrives.
    public func startLazily(on scheduler: CombineScheduler) -> SharedPublisher<Output, Failure> {
      SharedPublisher(subscribe(on: scheduler))
    }
  }

  extension CombineScheduler {
    /// Calls `body` once, now, in an action of this scheduler. Each subscriber gets all values it has sent, and then
    /// the later ones.
    ///
    /// ```swift
    /// let answer = queue.combine.startEagerly { (answer: PassthroughSubject<Int, Never>) in
    ///   answer.send(compute())
    ///   answer.send(completion: .finished)
    /// }
    /// ```
    ///
    /// - Parameter body: sends to the subject that it is given, at once or later, on any thread.
    public func startEagerly<Output, Failure>(_ body: @escaping (PassthroughSubject<Output, Failure>) -> Void)
      -> SharedPublisher<Output, Failure>
    {
      Self.publisher(body).startEagerly(on: self)
    }

    /// Like `startEagerly(_:)`, but calls `body` when the first subscriber arrives.
    public func startLazily<Output, Failure>(_ body: @escaping (PassthroughSubject<Output, Failure>) -> Void)
      -> SharedPublisher<Output, Failure>
    {
      Self.publisher(body).startLazily(on: self)
    }

    /// Returns a publisher that calls `body`, with a new subject, for each subscription.
    private static func publisher<Output, Failure>(_ body: @escaping (PassthroughSubject<Output, Failure>) -> Void)
      -> OperatorPublisher<Output, Failure>
    {
      OperatorPublisher { downstream in
        let subject = PassthroughSubject<Output, Failure>()
        subject.receive(subscriber: downstream)
        body(subject)
      }
    }
  }

  /// One subscription to a publisher, shared by any number of subscribers. Each gets all values from the first one,
  /// however late it subscribes.
  ///
  /// 1. There is one upstream subscription, which requests without limit. Each subscriber gets as much as it requests;
  ///    other values wait.
  /// 2. All subscribers see the same order. Values are delivered on the threads that send or request them.
  /// 3. Cancelling a subscriber ends only that subscriber. ``cancel()`` ends the work; releasing this object does not.
  /// 4. When this object is released, no new subscriber can arrive, and the values buffered for new subscribers are
  ///    released.
  public final class SharedPublisher<Output, Failure: Error>: Publisher, Cancellable {
    private let replay = ReplaySubject<Output, Failure>()  // buffers all values for later subscribers
    private let upstream = Upstream()  // the one subscription to the source
    private let scheduler: CombineScheduler?  // delivers all events; nil: the threads that send or request do
    private let lock = UnfairLock()
    // Subscribes its argument to the source; nil once it was called or cancelled. Under the lock.
    private var subscribeToSource: ((UpstreamSubscriber<Output, Failure>) -> Void)?

    /// Creates a publisher that shares `source`. If `scheduler` is given, it delivers all events.
    init(_ source: OperatorPublisher<Output, Failure>, deliveringOn scheduler: CombineScheduler? = nil) {
      self.scheduler = scheduler
      subscribeToSource = { source.subscribe($0) }
    }

    deinit { replay.forget() }  // no new subscriber can arrive; present ones keep the values that wait for them

    public func receive<Downstream: Subscriber>(subscriber: Downstream)
    where Downstream.Input == Output, Downstream.Failure == Failure {
      if let scheduler { replay.receive(on: scheduler).subscribe(subscriber) } else { replay.subscribe(subscriber) }
      connect()  // only the first subscriber causes the subscription to the source
    }

    /// Subscribes to the source, unless it has subscribed or was cancelled before.
    func connect() {
      guard let subscribe = lock.withLock({ self.subscribeToSource.take() }) else { return }
      upstream.request(.unlimited)  // stored until the source sends its subscription
      subscribe(  // the closures retain `replay`, not this object, so that deinit can run
        UpstreamSubscriber(
          upstream, onValue: { [replay] in replay.send($0) },
          onCompletion: { [replay] in replay.send(completion: $0) }))
    }

    /// Ends the work, or prevents its start. No more events arrive, not even a completion. Received values stay
    /// available. On any thread.
    public func cancel() {
      let source = lock.withLock { self.subscribeToSource.take() }  // nil from now on: `connect` does nothing
      upstream.cancel()
      withExtendedLifetime(source) {}  // released outside the lock, because it retains the user's closures
    }
  }

  // Unchecked, because the lock guards the state; Combine's contract allows using a publisher from any thread.
  extension SharedPublisher: @unchecked Sendable where Output: Sendable {}
#endif
