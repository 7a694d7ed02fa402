#if Combine
  #if canImport(Combine)
    public import Combine
  #else
    public import OpenCombine
  #endif
  internal import Scheduler

  // An operator is a publisher, usually an `OperatorPublisher`, and one stage for each of its subscribers:
  //
  //   upstream ─► `receiveValue`, `receiveCompletion` ─► `enqueue` ─► queue ─► `deliver` ─► downstream, the subscriber
  //   upstream ◄─ `requested` ◄─ demand ◄─ `request` ◄─ downstream
  //
  // States
  //   NEW      The downstream has no subscription yet. A completion waits in the queue.
  //   STARTED  `sendSubscription` has returned.
  //   ENDED    The downstream gets its completion, or has cancelled. `isLive` is false, the queue stays empty, and
  //            `ended` is called once.
  //   In each state, one thread at most is in the loop of `deliverNow`, and calls the downstream (`isDelivering`).
  //
  // Members for the subclasses
  //   under the lock     `isLive`, `demand`, `queuedCount`, `unmetDemand`, `isDeliverable`;
  //                      `enqueue` adds an event to the queue, `replaceQueue` replaces the values there
  //   without the lock   `sendSubscription`, `send` (`enqueue`, then `deliver`), `deliver`, `deliverNow`
  //   to override        `requested`, `valueDelivered`, `ended`; of a `SingleUpstreamStage` also `receiveSubscription`,
  //                      `receiveValue`, `receiveCompletion`: all are called without the lock

  /// The subscription of one subscriber, the downstream, to an operator. It delivers one event at a time, in order,
  /// within the demand, and none after the completion.
  ///
  /// 1. The downstream is never called under a lock, by two threads at a time, or inside another call from this stage.
  /// 2. If the downstream requests values during a call, the loop that made the call delivers them after it, so the
  ///    stack does not grow.
  /// 3. At the end all queued events are released.
  class Stage<Output, Failure: Error>: Subscription, @unchecked Sendable {
    // Unchecked, because values and subscribers are not Sendable: only the lock's owner and the delivering thread
    // access them.
    typealias Instant = CombineScheduler.SchedulerTimeType

    private struct State {
      var downstream: (any Subscriber<Output, Failure>)?  // nil: ENDED
      var queue = Fifo<Output>()  // values that were not delivered
      var completion: Subscribers.Completion<Failure>?  // queued, behind all values
      var demand: Subscribers.Demand = .none  // requested values that were not delivered
      var isDelivering = false  // a thread is in the loop of `deliverNow`
      var isStarted = false  // false: NEW
    }

    /// Guards the state of this object and of its subclasses.
    final let lock = UnfairLock()
    private final var state: State
    private final let delivery: StepRunner?  // calls `deliverNow` on a scheduler; nil: `deliver` calls it
    private final let batch = 64  // how many events one step of `delivery` delivers, before other work may run

    /// Creates a stage that delivers on `scheduler`; without one, on the threads that send and request.
    init(
      _ downstream: any Subscriber<Output, Failure>, deliveringOn scheduler: CombineScheduler? = nil,
      _ options: CombineScheduler.SchedulerOptions? = nil
    ) {
      state = State(downstream: downstream)
      delivery = scheduler.map { StepRunner($0, options) }
    }

    // MARK: to override

    /// Called when the downstream has requested `demand` more values. Overrides request them upstream, and then deliver
    /// values that waited for demand.
    func requested(_ demand: Subscribers.Demand) { deliver() }

    /// Called after each value that the downstream has received.
    func valueDelivered() {}

    /// Called once, before the downstream gets its completion, or when it cancels. Overrides cancel what the stage
    /// uses.
    func ended() {}

    // MARK: under the lock

    /// Whether the downstream has neither cancelled nor been sent its completion.
    final var isLive: Bool { state.downstream != nil }

    /// How many more values the downstream has requested than it has received.
    final var demand: Subscribers.Demand { state.demand }

    final var queuedCount: Int { state.queue.count }

    /// How many more values to request upstream to meet the demand, if `outstanding` requested ones have not arrived.
    final func unmetDemand(beyond outstanding: Subscribers.Demand) -> Subscribers.Demand {
      guard isLive, outstanding != .unlimited else { return .none }  // ended, or all is requested already
      guard let wanted = state.demand.max else { return .unlimited }  // max: nil if unlimited
      // queued values will meet a part of the demand; max(0, …): more values may be queued or requested than the
      // downstream wants
      return .max(max(0, wanted - queuedCount - (outstanding.max ?? 0)))
    }

    /// Appends a value to the queue. Returns false if the stage has ended or a completion is queued.
    @discardableResult
    final func enqueue(_ value: Output) -> Bool {
      guard isLive, state.completion == nil else { return false }
      state.queue.append(value)
      return true
    }

    /// Appends the completion to the queue, behind all values.
    final func enqueue(completion: Subscribers.Completion<Failure>) {
      if isLive, state.completion == nil { state.completion = completion }
    }

    /// Replaces all queued values by `value`, unless a completion is queued. Returns the old values, to release outside
    /// the lock.
    final func replaceQueue(with value: Output) -> Fifo<Output> {
      let old = state.queue
      if isLive, state.completion == nil {
        state.queue = Fifo()
        state.queue.append(value)
      }
      return old
    }

    /// Whether a queued event may be delivered. A value needs demand. A completion needs STARTED and no queued values.
    final var isDeliverable: Bool {
      isLive && (state.queue.isEmpty ? state.completion != nil && state.isStarted : state.demand > .none)
    }

    // MARK: without the lock

    /// Sends the downstream its subscription. Then delivers a completion without values, if it arrived before.
    final func sendSubscription() {
      lock.withLock { state.downstream }?.receive(subscription: self)  // nil: ENDED
      let isReady = lock.withLock {
        state.isStarted = true  // after the call above, so that no completion arrives inside that call
        return isDeliverable
      }
      if isReady { deliver() }
    }

    /// Queues a value, and delivers.
    final func send(_ value: Output) { if lock.withLock({ enqueue(value) }) { deliver() } }

    /// Queues the completion, and delivers.
    final func send(completion: Subscribers.Completion<Failure>) {
      lock.withLock { enqueue(completion: completion) }
      deliver()
    }

    /// Delivers the queued events that the demand allows: on the stage's scheduler, if it has one, and otherwise now.
    final func deliver() {
      guard let delivery else { return deliverNow() }
      if !delivery.isArmed, lock.withLock({ isDeliverable }) { delivery.arm { [self] _ in deliverNow() } }
    }

    /// Delivers the queued events that the demand allows, on this thread. If another call is delivering, that call
    /// delivers them. On a scheduler, delivers at most a batch, and the remaining events in another step.
    final func deliverNow() {
      let isDeliverer = lock.withLock {
        defer { state.isDelivering = true }
        return !state.isDelivering
      }
      guard isDeliverer else { return }
      var remaining = delivery == nil ? .max : batch
      while remaining > 0, deliverNext() { remaining -= 1 }
      guard remaining == 0 else { return }  // deliverNext has reset isDelivering
      lock.withLock { state.isDelivering = false }
      deliver()
    }

    /// Delivers one event. If there is none to deliver, or it was the completion, resets `isDelivering` and returns
    /// false.
    private final func deliverNext() -> Bool {
      lock.lock()
      if let downstream = state.downstream, state.demand > .none, let value = state.queue.popFirst() {
        state.demand -= 1
        lock.unlock()
        let more = downstream.receive(value)  // the further demand
        if more > .none { request(more) }  // does not recurse: `deliverNow` returns at once while `isDelivering` is set
        valueDelivered()
        return true
      }
      state.isDelivering = false
      guard isDeliverable, let completion = state.completion.take() else {
        lock.unlock()
        return false
      }
      let downstream = state.downstream.take()
      lock.unlock()
      end()
      downstream?.receive(completion: completion)
      return false
    }

    private final func end() {
      ended()
      delivery?.dispose()  // cancels the waiting step, which retains this stage
    }

    // MARK: Subscription

    final func request(_ demand: Subscribers.Demand) {
      guard demand > .none else { return }
      lock.lock()
      let isLive = isLive
      if isLive { state.demand += demand }
      lock.unlock()
      if isLive { requested(demand) }
    }

    final func cancel() {
      lock.lock()
      let downstream = state.downstream.take(), queue = state.queue, completion = state.completion.take()
      state.queue = Fifo()
      lock.unlock()
      if downstream != nil { end() }
      withExtendedLifetime((queue, completion)) {}  // released outside the lock: a release may run user code
    }
  }

  /// A stage with one upstream, to which it is a subscriber. An operator with several upstreams is a ``Stage`` with an
  /// ``UpstreamSubscriber`` for each.
  class SingleUpstreamStage<Input, Output, Failure: Error>: Stage<Output, Failure>, Subscriber, @unchecked Sendable {
    // Unchecked, as its superclass is.
    final let upstream = Upstream()

    // MARK: to override

    /// Called with the upstream's subscription, which `upstream` has stored.
    func receiveSubscription() { sendSubscription() }

    /// Called with each value from upstream.
    func receiveValue(_ value: Input) {}

    /// Called with the upstream's completion, unless the downstream has cancelled.
    func receiveCompletion(_ completion: Subscribers.Completion<Failure>) { send(completion: completion) }

    override func requested(_ demand: Subscribers.Demand) {
      upstream.request(demand)
      super.requested(demand)
    }

    override func ended() { upstream.cancel() }

    // MARK: Subscriber

    final func receive(subscription: any Subscription) {
      if upstream.accept(subscription) { receiveSubscription() }  // false: not needed, and cancelled by `accept`
    }

    final func receive(_ input: Input) -> Subscribers.Demand {
      receiveValue(input)
      return .none  // the stage requests through `upstream` only
    }

    final func receive(completion: Subscribers.Completion<Failure>) {
      if upstream.complete() { receiveCompletion(completion) }  // false: after a cancel or an earlier completion
    }
  }

  /// The publisher that this module's operators return.
  public struct OperatorPublisher<Output, Failure: Error>: Publisher {
    private let attach: (any Subscriber<Output, Failure>) -> Void

    /// Creates a publisher whose subscriptions are started by `attach`.
    init(_ attach: @escaping (any Subscriber<Output, Failure>) -> Void) { self.attach = attach }

    public func receive<Downstream: Subscriber>(subscriber: Downstream)
    where Downstream.Input == Output, Downstream.Failure == Failure { attach(subscriber) }
  }
#endif
