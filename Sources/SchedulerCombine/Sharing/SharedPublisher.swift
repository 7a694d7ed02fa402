#if Combine
  #if canImport(Combine)
    public import Combine
  #else
    public import OpenCombine
  #endif
  internal import Scheduler

  extension Publisher {
    /// Subscribes now, in an action of `scheduler`, once for all: each subscriber gets all that has come, and then what comes
    /// (ReactiveCocoa's `startEagerlyWithScheduler:`).
    public func startEagerly(on scheduler: CombineScheduler) -> SharedPublisher<Output, Failure> {
      let shared = startLazily(on: scheduler)
      shared.connect()
      return shared
    }

    /// The same, but subscribes when the first subscriber comes.
    public func startLazily(on scheduler: CombineScheduler) -> SharedPublisher<Output, Failure> {
      SharedPublisher(subscribe(on: scheduler))
    }
  }

  extension CombineScheduler {
    /// Calls `body` now, in an action of this scheduler, once for all subscribers: each gets all that it has sent, and then what it sends.
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

    /// The same, but calls `body` when the first subscriber comes.
    public func startLazily<Output, Failure>(_ body: @escaping (PassthroughSubject<Output, Failure>) -> Void)
      -> SharedPublisher<Output, Failure>
    {
      Self.publisher(body).startLazily(on: self)
    }

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

  /// One subscription to a publisher, for any number of subscribers, whenever they come: each gets all values from the first.
  ///
  /// 1. There is one subscription, which asks without limit; each subscriber gets as much as it asks for, and the rest waits for it.
  /// 2. All see one order; values come on the threads on which they are sent, or asked for.
  /// 3. A subscriber's cancellation ends that one alone. ``cancel()`` ends the work; letting go of this object does not.
  /// 4. Once nobody has this object any more, so that no subscriber can come, nothing is kept for those.
  public final class SharedPublisher<Output, Failure: Error>: Publisher, Cancellable {
    private let replay = ReplaySubject<Output, Failure>()
    private let upstream = Upstream()
    private let place: CombineScheduler?
    private let lock = UnfairLock()
    // Under the lock, until it begins.
    private var begin: ((Inlet<Output, Failure>) -> Void)?

    /// Makes one of `source`; where a `place` is given, all is delivered there.
    init(_ source: OperatorPublisher<Output, Failure>, deliveringOn place: CombineScheduler? = nil) {
      self.place = place
      begin = { source.subscribe($0) }
    }

    deinit { replay.forget() }

    public func receive<Downstream: Subscriber>(subscriber: Downstream)
    where Downstream.Input == Output, Downstream.Failure == Failure {
      if let place { replay.receive(on: place).subscribe(subscriber) } else { replay.subscribe(subscriber) }
      connect()
    }

    /// Subscribes, unless that has been done.
    func connect() {
      guard let begin = lock.withLock({ self.begin.take() }) else { return }
      upstream.request(.unlimited)
      begin(
        Inlet(upstream, onValue: { [replay] in replay.send($0) }, onEnd: { [replay] in replay.send(completion: $0) }))
    }

    /// Ends the work, or keeps it from beginning: nothing more comes, not even an end. What has come stays to be had. Any thread.
    public func cancel() {
      let begin = lock.withLock { self.begin.take() }
      upstream.cancel()
      withExtendedLifetime(begin) {}  // it ends outside of the lock
    }
  }

  // Unchecked, because the compiler cannot see that the state is guarded by the lock; a publisher is used from any thread by Combine's contract.
  extension SharedPublisher: @unchecked Sendable where Output: Sendable {}
#endif
