#if Combine && !canImport(Combine)
  // Combine has this operator, OpenCombine does not.
  public import OpenCombine
  internal import Scheduler

  extension Publisher {
    /// Delivers the latest values of both, whenever either has a new one and both have had one.
    ///
    /// Ends when both have, or when one has ended without a value, or with the first failure. No more is delivered than is asked for, and
    /// nothing is left out: what came too early for the demand waits for it.
    public func combineLatest<Other: Publisher>(_ other: Other) -> OperatorPublisher<(Output, Other.Output), Failure>
    where Other.Failure == Failure {
      OperatorPublisher { downstream in
        let both = Latest<Output, Other.Output, Failure>(downstream)
        both.attach({ self.receive(subscriber: $0) }, { other.receive(subscriber: $0) })
      }
    }

    /// The same, with what `transform` makes of the two.
    public func combineLatest<Other: Publisher, Result>(
      _ other: Other, _ transform: @escaping (Output, Other.Output) -> Result
    ) -> Publishers.Map<OperatorPublisher<(Output, Other.Output), Failure>, Result> where Other.Failure == Failure {
      combineLatest(other).map { transform($0.0, $0.1) }
    }

    /// The same for three.
    public func combineLatest<P: Publisher, Q: Publisher>(_ second: P, _ third: Q)
      -> some Publisher<(Output, P.Output, Q.Output), Failure> where P.Failure == Failure, Q.Failure == Failure
    {
      combineLatest(second).combineLatest(third).map { ($0.0.0, $0.0.1, $0.1) }
    }

    /// The same for four.
    public func combineLatest<P: Publisher, Q: Publisher, R: Publisher>(_ second: P, _ third: Q, _ fourth: R)
      -> some Publisher<(Output, P.Output, Q.Output, R.Output), Failure>
    where P.Failure == Failure, Q.Failure == Failure, R.Failure == Failure {
      combineLatest(second).combineLatest(third).combineLatest(fourth).map { ($0.0.0.0, $0.0.0.1, $0.0.1, $0.1) }
    }
  }

  private final class Latest<Left, Right, Failure: Error>: Outlet<(Left, Right), Failure>, @unchecked Sendable {
    // Unchecked, as its superclass is.
    /// One of the two, under the lock.
    private struct Side<Value> {
      var latest: Value?
      /// How many values are still to come of those asked for.
      var outstanding: Subscribers.Demand = .none
      var hasEnded = false
    }

    private var left = Side<Left>()
    private var right = Side<Right>()
    private let ofLeft = Upstream()
    private let ofRight = Upstream()

    func attach(
      _ left: (Inlet<Left, Failure>) -> Void, _ right: (Inlet<Right, Failure>) -> Void
    ) {
      start()
      left(Inlet(ofLeft, onValue: { self.take($0, into: \.left) }, onEnd: { self.end($0, of: \.left) }))
      guard lock.withLock({ isLive }) else { return }
      right(Inlet(ofRight, onValue: { self.take($0, into: \.right) }, onEnd: { self.end($0, of: \.right) }))
    }

    private func take<Value>(_ value: Value, into side: ReferenceWritableKeyPath<Latest, Side<Value>>) {
      lock.lock()
      let old = self[keyPath: side].latest
      self[keyPath: side].latest = isLive ? value : nil
      self[keyPath: side].outstanding -= 1
      let pair = left.latest.flatMap { left in right.latest.map { (left, $0) } }
      // In line in the order of the changes, so under the same lock.
      if let pair { append(pair) }
      lock.unlock()
      withExtendedLifetime(old) {}  // it ends outside of the lock
      guard pair != nil else { return }
      deliver()
      ask()
    }

    private func end<Value>(
      _ completion: Subscribers.Completion<Failure>, of side: ReferenceWritableKeyPath<Latest, Side<Value>>
    ) {
      let isLast = lock.withLock {
        self[keyPath: side].hasEnded = true
        return self[keyPath: side].latest == nil || (left.hasEnded && right.hasEnded)
      }
      if case .failure = completion { finish(completion) } else if isLast { finish(.finished) }
    }

    override func wanted(_ demand: Subscribers.Demand) { ask() }

    /// Asks each for as many as are wanted. Until both have had a value, what comes before it is not made up for.
    private func ask() {
      let wanted = lock.withLock {
        let wanted = (lacking(beyond: left.outstanding), lacking(beyond: right.outstanding))
        left.outstanding += wanted.0
        right.outstanding += wanted.1
        return wanted
      }
      ofLeft.request(wanted.0)
      ofRight.request(wanted.1)
    }

    override func ended() {
      ofLeft.cancel()
      ofRight.cancel()
      let old = lock.withLock { (left.latest.take(), right.latest.take()) }
      withExtendedLifetime(old) {}  // they end outside of the lock
    }
  }
#endif
