#if Combine && !canImport(Combine)
  // Combine has this operator, OpenCombine does not.
  public import OpenCombine
  internal import Scheduler

  extension Publisher {
    /// Delivers the latest values of both publishers as a pair: when both have sent a value, and then for each later
    /// value.
    ///
    /// Completes when both have completed, or when one completes without a value. Fails with the first failure. A pair
    /// without demand waits in a queue. No pair is skipped.
    public func combineLatest<Other: Publisher>(_ other: Other) -> OperatorPublisher<(Output, Other.Output), Failure>
    where Other.Failure == Failure {
      OperatorPublisher { downstream in
        let both = Latest<Output, Other.Output, Failure>(downstream)
        both.attach({ self.receive(subscriber: $0) }, { other.receive(subscriber: $0) })
      }
    }

    /// Like `combineLatest(_:)`, and delivers the result of `transform` on the two values.
    public func combineLatest<Other: Publisher, Result>(
      _ other: Other, _ transform: @escaping (Output, Other.Output) -> Result
    ) -> Publishers.Map<OperatorPublisher<(Output, Other.Output), Failure>, Result> where Other.Failure == Failure {
      combineLatest(other).map { transform($0.0, $0.1) }
    }

    /// Combines the latest values of three publishers.
    public func combineLatest<P: Publisher, Q: Publisher>(_ second: P, _ third: Q)
      -> some Publisher<(Output, P.Output, Q.Output), Failure> where P.Failure == Failure, Q.Failure == Failure
    {
      combineLatest(second).combineLatest(third).map { ($0.0.0, $0.0.1, $0.1) }
    }

    /// Combines the latest values of four publishers.
    public func combineLatest<P: Publisher, Q: Publisher, R: Publisher>(_ second: P, _ third: Q, _ fourth: R)
      -> some Publisher<(Output, P.Output, Q.Output, R.Output), Failure>
    where P.Failure == Failure, Q.Failure == Failure, R.Failure == Failure {
      combineLatest(second).combineLatest(third).combineLatest(fourth).map { ($0.0.0.0, $0.0.0.1, $0.0.1, $0.1) }
    }
  }

  /// Stores the latest value of each upstream. Queues a pair for each new value once both have one.
  private final class Latest<Left, Right, Failure: Error>: Stage<(Left, Right), Failure>, @unchecked Sendable {
    // Unchecked, because values are not Sendable: the lock guards the two sides.
    /// What one of the two upstreams has sent, and what it has been asked for. Under the lock.
    private struct Side<Value> {
      var latest: Value?  // nil: it has sent no value
      var outstanding: Subscribers.Demand = .none  // requested values that have not arrived
      var hasEnded = false
    }

    private var left = Side<Left>()
    private var right = Side<Right>()
    private let leftUpstream = Upstream()
    private let rightUpstream = Upstream()

    /// Sends the downstream its subscription, then subscribes to both upstreams with the two closures.
    ///
    /// The closures retain this stage, which retains the upstreams' subscriptions. The completion or cancel of an
    /// upstream releases its subscription, and so breaks the cycle; `ended` cancels both.
    func attach(
      _ left: (UpstreamSubscriber<Left, Failure>) -> Void, _ right: (UpstreamSubscriber<Right, Failure>) -> Void
    ) {
      sendSubscription()  // the downstream may request or cancel in this call
      left(
        UpstreamSubscriber(
          leftUpstream, onValue: { self.receiveValue($0, from: \.left) },
          onCompletion: { self.receiveCompletion($0, from: \.left) }))
      guard lock.withLock({ isLive }) else { return }  // ended: by a cancel, or because `left` failed or was empty
      right(
        UpstreamSubscriber(
          rightUpstream, onValue: { self.receiveValue($0, from: \.right) },
          onCompletion: { self.receiveCompletion($0, from: \.right) }))
    }

    /// Stores `value` as the latest of its side. If both sides have a value, queues the pair, and delivers queued pairs
    /// within the demand.
    private func receiveValue<Value>(_ value: Value, from side: ReferenceWritableKeyPath<Latest, Side<Value>>) {
      lock.lock()
      let old = self[keyPath: side].latest
      self[keyPath: side].latest = isLive ? value : nil  // nil: after the end nothing may keep a value alive
      self[keyPath: side].outstanding -= 1
      let pair = left.latest.flatMap { left in right.latest.map { (left, $0) } }
      if let pair { enqueue(pair) }  // under the same lock, so that pairs are queued in the order of the changes
      lock.unlock()
      withExtendedLifetime(old) {}  // released outside the lock, because a value's deinit is user code
      guard pair != nil else { return }  // requests nothing before the first pair: see `requestMissing`
      deliver()
      requestMissing()
    }

    /// Records that the upstream of `side` has ended. Ends the operator at a failure, and when no pair can follow.
    private func receiveCompletion<Value>(
      _ completion: Subscribers.Completion<Failure>, from side: ReferenceWritableKeyPath<Latest, Side<Value>>
    ) {
      let isOver = lock.withLock {
        self[keyPath: side].hasEnded = true
        // no pair can follow: this side has never sent a value, or neither side sends more
        return self[keyPath: side].latest == nil || (left.hasEnded && right.hasEnded)
      }
      if case .failure = completion { send(completion: completion) } else if isOver { send(completion: .finished) }
    }

    override func requested(_ pairs: Subscribers.Demand) {  // by the downstream
      requestMissing()
      deliver()  // pairs that waited for demand
    }

    /// Requests from each upstream as many values as the downstream's demand needs. Not called for a value that makes
    /// no pair. Such a value satisfies no demand: to request another one for it would drain one upstream before the
    /// other has sent a value.
    private func requestMissing() {
      let missing = lock.withLock {  // one critical section, so that two threads do not request the same values
        let missing = (unmetDemand(beyond: left.outstanding), unmetDemand(beyond: right.outstanding))
        left.outstanding += missing.0
        right.outstanding += missing.1
        return missing
      }
      leftUpstream.request(missing.0)
      rightUpstream.request(missing.1)
    }

    override func ended() {  // at the completion or a cancel, without the lock
      leftUpstream.cancel()
      rightUpstream.cancel()
      let old = lock.withLock { (left.latest.take(), right.latest.take()) }
      withExtendedLifetime(old) {}  // values are released outside the lock
    }
  }
#endif
