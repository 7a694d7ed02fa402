#if Combine
  #if canImport(Combine)
    internal import Combine
  #else
    internal import OpenCombine
  #endif
  internal import Scheduler

  /// The connection of an operator to its subscriber. It delivers one event at a time, in order, within the demand, and
  /// none after the completion.
  ///
  /// 1. The subscriber is never called under a lock, by two threads at a time, or inside another call from this outlet.
  /// 2. If the subscriber requests values during a call, the loop that made the call delivers them after it, so the
  ///    stack does not grow.
  /// 3. At the end, `ended` is called once and all waiting events are released. The end is the completion, or `cancel`,
  ///    also by the subscriber.
  class Outlet<Output, Failure: Error>: Subscription, @unchecked Sendable {
    // Unchecked, because values and subscribers are not Sendable: only the lock's owner and the delivering thread
    // access them.
    private struct State {
      var downstream: (any Subscriber<Output, Failure>)?  // nil: the outlet has ended
      var waiting = Fifo<Output>()  // queued values
      var completion: Subscribers.Completion<Failure>?  // queued, behind all values
      var demand: Subscribers.Demand = .none  // requested values that were not delivered
      var isDelivering = false  // a thread is in `deliver`: only that thread calls the subscriber
      /// Whether the subscriber has received its subscription. Until then, a completion without values waits.
      var isStarted = false
    }

    /// Guards the state of this object and of its subclasses.
    final let lock = UnfairLock()
    private final var state: State

    init(_ downstream: any Subscriber<Output, Failure>) { state = State(downstream: downstream) }

    // MARK: for subclasses

    /// Called without the lock when the subscriber requests `demand` more values, before ``deliverRequested()``.
    func wanted(_ demand: Subscribers.Demand) {}

    /// Called without the lock after each value that the subscriber has received.
    func delivered() {}

    /// Called once, without the lock, before the subscriber gets its completion, or when it cancels.
    func ended() {}

    /// Under the lock: whether the subscriber has neither cancelled nor been sent its completion.
    final var isLive: Bool { state.downstream != nil }

    /// Under the lock: how many more values to request upstream to meet the demand, if `outstanding` requested ones
    /// have not arrived.
    final func lacking(beyond outstanding: Subscribers.Demand) -> Subscribers.Demand {
      guard isLive, outstanding != .unlimited, let wanted = state.demand.max else {  // max: nil if unlimited
        return isLive && outstanding != .unlimited ? .unlimited : .none  // none: ended, or all is requested already
      }
      // queued values will meet a part of the demand; max(0, …): more values may be queued or requested than the
      // subscriber wants
      return .max(max(0, wanted - state.waiting.count - (outstanding.max ?? 0)))
    }

    /// Under the lock: how many values wait in the queue, and how many more values the subscriber has requested than it
    /// has received.
    final var waiting: Int { state.waiting.count }
    final var demand: Subscribers.Demand { state.demand }

    /// Sends the subscriber its subscription. Then delivers a completion without values, if it arrived before.
    final func start() {
      lock.withLock { state.downstream }?.receive(subscription: self)  // nil: the outlet has ended
      let isReady = lock.withLock {
        state.isStarted = true  // after the call above, so that no completion arrives inside that call
        return isDeliverable
      }
      if isReady { deliverRequested() }  // overridable: a subclass may deliver on its scheduler
    }

    /// Appends a value to the queue. Returns false if the outlet has ended or a completion is queued.
    @discardableResult
    final func push(_ value: Output) -> Bool {
      lock.lock()
      defer { lock.unlock() }
      return append(value)
    }

    /// Under the lock: like `push(_:)`.
    @discardableResult
    final func append(_ value: Output) -> Bool {
      guard isLive, state.completion == nil else { return false }
      state.waiting.append(value)
      return true
    }

    /// Appends the completion to the queue, behind all values.
    final func pushEnd(_ completion: Subscribers.Completion<Failure>) { lock.withLock { appendEnd(completion) } }

    /// Under the lock: like `pushEnd(_:)`.
    final func appendEnd(_ completion: Subscribers.Completion<Failure>) {
      if isLive, state.completion == nil { state.completion = completion }
    }

    /// Appends a value, and calls the subscriber as far as the demand allows.
    final func send(_ value: Output) { if push(value) { deliver() } }

    /// Appends the completion, and calls the subscriber as far as the demand allows.
    final func finish(_ completion: Subscribers.Completion<Failure>) {
      pushEnd(completion)
      deliver()
    }

    /// Under the lock: replaces all waiting values by `value`, unless a completion is queued. Returns the old values,
    /// to release outside the lock.
    final func replaceQueue(_ value: Output) -> Fifo<Output> {
      let old = state.waiting
      if isLive, state.completion == nil {
        state.waiting = Fifo()
        state.waiting.append(value)
      }
      return old
    }

    /// Under the lock: whether a queued event may be delivered. A value needs demand. A completion needs an empty queue
    /// and `isStarted`.
    final var isDeliverable: Bool {
      isLive && (state.waiting.isEmpty ? state.completion != nil && state.isStarted : state.demand > .none)
    }

    /// Delivers queued events within the demand, at most `limit`. If another call is delivering, that call delivers
    /// them, and this one returns false.
    /// Returns true if `limit` was reached and more events can be delivered: the caller must then call again.
    @discardableResult
    final func deliver(atMost limit: Int = .max) -> Bool {
      let isDeliverer = lock.withLock {
        defer { state.isDelivering = true }
        return !state.isDelivering
      }
      guard isDeliverer else { return false }
      var remaining = limit
      while remaining > 0, deliverNext() { remaining -= 1 }
      guard remaining == 0 else { return false }  // deliverNext has reset isDelivering
      return lock.withLock {
        state.isDelivering = false
        return isDeliverable
      }
    }

    /// Delivers one event. If there is none to deliver, or it was the completion, ends the delivery and returns false.
    private final func deliverNext() -> Bool {
      lock.lock()
      guard let downstream = state.downstream else { return endDelivery() }
      if state.demand > .none, let value = state.waiting.popFirst() {
        state.demand -= 1
        lock.unlock()
        let more = downstream.receive(value)  // the further demand
        if more > .none { request(more) }  // does not recurse: `deliver` returns at once while `isDelivering` is set
        delivered()
        return true
      }
      guard state.isStarted, state.waiting.isEmpty, let completion = state.completion.take() else {
        return endDelivery()
      }
      state.downstream = nil  // the outlet has ended
      _ = endDelivery()  // unlocks; always returns false
      ended()
      downstream.receive(completion: completion)
      return false
    }

    /// Requires the lock, which it unlocks. From then on another call may deliver. Returns false, which `deliverNext`
    /// returns.
    private final func endDelivery() -> Bool {
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
      wanted(demand)  // a subclass usually requests upstream
      deliverRequested()  // delivers values that waited for demand
    }

    /// Called after each request. Delivers the waiting events, unless a subclass overrides it to deliver on another
    /// thread.
    func deliverRequested() { deliver() }

    final func cancel() {
      lock.lock()
      let downstream = state.downstream.take(), waiting = state.waiting, completion = state.completion.take()
      state.waiting = Fifo()
      lock.unlock()
      if downstream != nil { ended() }
      withExtendedLifetime((waiting, completion)) {}  // released outside the lock: a release may run user code
    }
  }
#endif
