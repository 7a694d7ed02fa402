#if Combine && !canImport(Combine)
  // Combine has this operator, OpenCombine does not.
  public import OpenCombine
  internal import Scheduler

  extension Publisher {
    /// Delivers the values of this publisher and of `other` as they arrive. Completes when both have, and fails with
    /// the first failure.
    ///
    /// The merge requests one value at a time from each upstream, and the next value when the previous one is delivered
    /// and there is more demand. If the subscriber requests without limit, so does the merge. Calls to the subscriber
    /// never overlap.
    public func merge<Other: Publisher<Output, Failure>>(with other: Other) -> OperatorPublisher<Output, Failure> {
      merged([attaching(), other.attaching()])
    }

    /// Merges three publishers, like `merge(with:)`.
    public func merge<P: Publisher<Output, Failure>, Q: Publisher<Output, Failure>>(with second: P, _ third: Q)
      -> OperatorPublisher<Output, Failure>
    {
      merged([attaching(), second.attaching(), third.attaching()])
    }

    /// Merges four publishers, like `merge(with:)`. For more publishers of one type, use `Publishers.MergeMany`.
    public func merge<P: Publisher<Output, Failure>, Q: Publisher<Output, Failure>, R: Publisher<Output, Failure>>(
      with second: P, _ third: Q, _ fourth: R
    ) -> OperatorPublisher<Output, Failure> {
      merged([attaching(), second.attaching(), third.attaching(), fourth.attaching()])
    }

    /// Returns a closure that subscribes its argument to this publisher. So publishers of different types fit into one
    /// array.
    fileprivate func attaching() -> (any Subscriber<Output, Failure>) -> Void { { self.receive(subscriber: $0) } }
  }

  extension Publishers {
    /// Merges any number of publishers of one type, like `merge(with:)`. Without publishers it completes at once.
    public struct MergeMany<Upstream: Publisher>: Publisher {
      public typealias Output = Upstream.Output
      public typealias Failure = Upstream.Failure

      /// The merged publishers.
      public let publishers: [Upstream]

      /// Creates a publisher that merges `upstream`.
      public init(_ upstream: Upstream...) { publishers = upstream }

      /// Creates a publisher that merges `upstream`.
      public init<Upstreams: Swift.Sequence<Upstream>>(_ upstream: Upstreams) { publishers = Array(upstream) }

      public func receive<Downstream: Subscriber>(subscriber: Downstream)
      where Downstream.Input == Output, Downstream.Failure == Failure {
        merged(publishers.map { $0.attaching() }).receive(subscriber: subscriber)
      }
    }
  }

  /// Returns a publisher that merges `sources`, which are closures that subscribe their argument.
  private func merged<Output, Failure>(_ sources: [(any Subscriber<Output, Failure>) -> Void])
    -> OperatorPublisher<Output, Failure>
  {
    OperatorPublisher { Merging($0, count: sources.count).attach(sources) }
  }

  /// Queues the values of all upstreams for one downstream. At most one value of each upstream is queued, unless the
  /// demand is unlimited.
  private final class Merging<Output, Failure: Error>: Stage<Output, Failure>, @unchecked Sendable {
    // Unchecked, as its superclass is.
    private let upstreams: [Upstream]
    // Under the lock:
    private var hasRequest: [Bool]  // for each upstream: whether a requested value has not been delivered
    private var origins = Fifo<Int>()  // the upstream of each queued value
    private var liveCount: Int  // upstreams that have not ended
    private var isUnlimited = false  // the downstream has requested without limit

    init(_ downstream: any Subscriber<Output, Failure>, count: Int) {
      upstreams = (0..<count).map { _ in Upstream() }
      hasRequest = Array(repeating: false, count: count)
      liveCount = count
      super.init(downstream)
    }

    /// Sends the downstream its subscription, then subscribes to all sources, until the merge ends.
    func attach(_ sources: [(any Subscriber<Output, Failure>) -> Void]) {
      sendSubscription()  // the downstream may request or cancel in this call
      for (index, source) in sources.enumerated() where lock.withLock({ isLive }) {  // until a cancel or a failure
        source(
          UpstreamSubscriber(
            upstreams[index], onValue: { self.receiveValue($0, from: index) }, onCompletion: receiveCompletion))
      }
      if sources.isEmpty { send(completion: .finished) }  // there is no upstream to complete the merge
    }

    private func receiveValue(_ value: Output, from index: Int) {
      // Both queues change together, so that the first origin belongs to the first value: `valueDelivered` requests
      // this upstream's next value.
      lock.withLock { if enqueue(value), !isUnlimited { origins.append(index) } }
      deliver()
    }

    /// Counts the end of one upstream. Ends the merge at the last one, and at each failure.
    private func receiveCompletion(_ completion: Subscribers.Completion<Failure>) {
      let isLast = lock.withLock {
        liveCount -= 1
        return liveCount == 0
      }
      if case .failure = completion { send(completion: completion) } else if isLast { send(completion: .finished) }
    }

    /// Called when the downstream requests values. Requests a value from each upstream that owes none, or everything if
    /// the request is unlimited. Then delivers values that waited for demand.
    override func requested(_ demand: Subscribers.Demand) {
      let requested = lock.withLock { () -> [Int] in  // the upstreams from which to request
        if isUnlimited { return [] }  // all upstreams send without limit already
        isUnlimited = demand == .unlimited
        let requested = hasRequest.indices.filter { isUnlimited || !hasRequest[$0] }
        for index in requested { hasRequest[index] = true }
        return requested
      }
      for index in requested { upstreams[index].request(demand == .unlimited ? .unlimited : .max(1)) }
      deliver()
    }

    /// Called after each value that the downstream has received. Requests the next value of the same upstream, if there
    /// is demand for it.
    override func valueDelivered() {
      let next = lock.withLock { () -> Int? in  // the value's upstream; nil: no request
        guard !isUnlimited, let index = origins.popFirst() else { return nil }  // all is requested already
        hasRequest[index] = demand > queuedCount  // the queued values do not meet the demand
        return hasRequest[index] ? index : nil
      }
      if let next { upstreams[next].request(.max(1)) }
    }

    override func ended() { for upstream in upstreams { upstream.cancel() } }  // at the completion or a cancel
  }
#endif
