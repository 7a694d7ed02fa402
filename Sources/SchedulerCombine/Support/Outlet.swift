#if Combine
  #if canImport(Combine)
    internal import Combine
  #else
    internal import OpenCombine
  #endif
  internal import Scheduler

  /// An operator's end of what is below it: one delivery at a time, in order, no more than is asked for, and nothing after an end.
  ///
  /// 1. The subscriber is never called under a lock, nor by two threads at a time, nor inside of another call of ours to it.
  /// 2. What it asks for while it is called is served after that, by the same loop: the stack stays as it is.
  /// 3. At the end (the completion, or `cancel`, also from inside of the subscriber) `ended` is called once, and all that waited is released.
  class Outlet<Output, Failure: Error>: Subscription, @unchecked Sendable {
    // Unchecked, because values and subscribers are not Sendable: they are touched under the lock, or by the one who delivers.
    private struct State {
      var downstream: (any Subscriber<Output, Failure>)?
      var waiting = Fifo<Output>()
      var completion: Subscribers.Completion<Failure>?
      var demand: Subscribers.Demand = .none
      var isDelivering = false
      /// The subscriber has its subscription, so that it may get an end that comes by itself.
      var isStarted = false
    }

    /// Guards this object's state, and what subclasses have.
    final let lock = UnfairLock()
    private final var state: State

    init(_ downstream: any Subscriber<Output, Failure>) { state = State(downstream: downstream) }

    // MARK: for subclasses

    /// Called without the lock when the subscriber asks for more.
    func wanted(_ demand: Subscribers.Demand) {}

    /// Called without the lock after each value.
    func delivered() {}

    /// Called once, without the lock, before the subscriber gets its completion, or at the cancellation.
    func ended() {}

    /// Under the lock: whether it has not ended.
    final var isLive: Bool { state.downstream != nil }

    /// Under the lock: how many values are still to come of those asked for, where `outstanding` have been asked for above.
    final func lacking(beyond outstanding: Subscribers.Demand) -> Subscribers.Demand {
      guard isLive, outstanding != .unlimited, let wanted = state.demand.max else {
        return isLive && outstanding != .unlimited ? .unlimited : .none
      }
      return .max(max(0, wanted - state.waiting.count - (outstanding.max ?? 0)))
    }

    /// Under the lock: how many values wait for demand, and how many more are asked for.
    final var waiting: Int { state.waiting.count }
    final var demand: Subscribers.Demand { state.demand }

    /// Hands the subscriber its subscription; an end that has come before is delivered after that.
    final func start() {
      lock.withLock { state.downstream }?.receive(subscription: self)
      let isReady = lock.withLock {
        state.isStarted = true
        return isDeliverable
      }
      if isReady { demanded() }
    }

    /// Puts a value in line. Returns false once it has ended, or is to end.
    @discardableResult
    final func push(_ value: Output) -> Bool {
      lock.lock()
      defer { lock.unlock() }
      return append(value)
    }

    /// Under the lock: the same.
    @discardableResult
    final func append(_ value: Output) -> Bool {
      guard isLive, state.completion == nil else { return false }
      state.waiting.append(value)
      return true
    }

    /// Puts the end in line, behind all values.
    final func pushEnd(_ completion: Subscribers.Completion<Failure>) { lock.withLock { appendEnd(completion) } }

    /// Under the lock: the same.
    final func appendEnd(_ completion: Subscribers.Completion<Failure>) {
      if isLive, state.completion == nil { state.completion = completion }
    }

    /// Delivers a value, when it is asked for.
    final func send(_ value: Output) { if push(value) { deliver() } }

    /// Delivers the end, behind all values.
    final func finish(_ completion: Subscribers.Completion<Failure>) {
      pushEnd(completion)
      deliver()
    }

    /// Under the lock: puts a value in line in the place of all that wait, which it returns: values end outside of the lock.
    final func appendAlone(_ value: Output) -> Fifo<Output> {
      let old = state.waiting
      if isLive, state.completion == nil {
        state.waiting = Fifo()
        state.waiting.append(value)
      }
      return old
    }

    /// Under the lock: whether something in line may be delivered.
    final var isDeliverable: Bool {
      isLive && (state.waiting.isEmpty ? state.completion != nil && state.isStarted : state.demand > .none)
    }

    /// Delivers what is in line and asked for, `limit` events at the most, unless another call does so. Returns whether some is left.
    @discardableResult
    final func deliver(atMost limit: Int = .max) -> Bool {
      let isMine = lock.withLock {
        defer { state.isDelivering = true }
        return !state.isDelivering
      }
      guard isMine else { return false }
      var left = limit
      while left > 0, deliverNext() { left -= 1 }
      guard left == 0 else { return false }
      return lock.withLock {
        state.isDelivering = false
        return isDeliverable
      }
    }

    /// Delivers one event; where there is none, the delivery is over. What it has of the subscriber's ends outside of the lock.
    private final func deliverNext() -> Bool {
      lock.lock()
      guard let downstream = state.downstream else { return deliveryEnds() }
      if state.demand > .none, let value = state.waiting.popFirst() {
        state.demand -= 1
        lock.unlock()
        let more = downstream.receive(value)
        if more > .none { request(more) }
        delivered()
        return true
      }
      guard state.isStarted, state.waiting.isEmpty, let completion = state.completion.take() else {
        return deliveryEnds()
      }
      state.downstream = nil
      _ = deliveryEnds()
      ended()
      downstream.receive(completion: completion)
      return false
    }

    private final func deliveryEnds() -> Bool {
      state.isDelivering = false
      lock.unlock()
      return false
    }

    // MARK: Subscription

    final func request(_ demand: Subscribers.Demand) {
      guard demand > .none else { return }
      lock.lock()
      let isLive = isLive
      if isLive { state.demand += demand }
      lock.unlock()
      guard isLive else { return }
      wanted(demand)
      demanded()
    }

    /// Called after each request: delivers what has waited for it, where nothing else is to do so.
    func demanded() { deliver() }

    final func cancel() {
      lock.lock()
      let downstream = state.downstream.take(), waiting = state.waiting, completion = state.completion.take()
      state.waiting = Fifo()
      lock.unlock()
      if downstream != nil { ended() }
      withExtendedLifetime((waiting, completion)) {}  // they end outside of the lock
    }
  }
#endif
