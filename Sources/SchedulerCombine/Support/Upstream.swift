#if Combine
  #if canImport(Combine)
    internal import Combine
  #else
    internal import OpenCombine
  #endif
  internal import Scheduler

  /// The connection of a stage to one upstream. It stores requests made before the subscription arrives.
  final class Upstream: @unchecked Sendable {
    // Unchecked, because a subscription is not Sendable: the lock guards it, and its contract allows use from any
    // thread.
    private struct State {
      var subscription: (any Subscription)?
      var earlyDemand: Subscribers.Demand = .none  // requested before the subscription arrived
      var isOver = false  // completed or cancelled
    }

    private let lock = UnfairLock()
    private var state = State()

    /// Stores the subscription and returns true. If there is one already, or the connection is over, cancels the new
    /// one and returns false. Sends no stored requests: see `requestStored`.
    func accept(_ subscription: any Subscription) -> Bool {
      lock.lock()
      guard !state.isOver, state.subscription == nil else {
        lock.unlock()  // first: `cancel` may run user code
        subscription.cancel()
        return false
      }
      state.subscription = subscription
      lock.unlock()
      return true
    }

    /// Whether a subscription was accepted, or the connection is over. From then on, `request` stores no demand.
    var isAccepted: Bool { lock.withLock { state.subscription != nil || state.isOver } }

    /// Sends the requests made before the subscription arrived. Call it after `accept`.
    func requestStored() {
      let earlyDemand = lock.withLock {
        defer { state.earlyDemand = .none }
        return state.earlyDemand
      }
      request(earlyDemand)
    }

    /// Requests more values, now or when the subscription arrives.
    func request(_ demand: Subscribers.Demand) {
      guard demand > .none else { return }
      lock.lock()
      let subscription = state.subscription
      if subscription == nil, !state.isOver { state.earlyDemand += demand }
      lock.unlock()
      subscription?.request(demand)  // without the lock: the upstream may send values inside this call
    }

    /// Records the completion. Returns whether it is valid: false after an earlier completion or a cancel.
    func complete() -> Bool {
      lock.lock()
      let wasOver = state.isOver, subscription = state.subscription.take()
      state.isOver = true
      lock.unlock()
      withExtendedLifetime(subscription) {}  // released outside the lock: a release may run user code
      return !wasOver
    }

    /// Ends the connection: cancels the subscription now, or in `accept` if it arrives later.
    func cancel() {
      lock.lock()
      let subscription = state.subscription.take()
      state.isOver = true
      lock.unlock()
      subscription?.cancel()
    }
  }

  /// The subscriber to one of several upstreams of a stage.
  ///
  /// While the subscription exists there is a retain cycle: this subscriber, its closures, the stage, the ``Upstream``,
  /// the subscription, this subscriber. The end of the subscription breaks the cycle, because the ``Upstream`` then
  /// releases the subscription.
  final class UpstreamSubscriber<Input, Failure: Error>: Subscriber, @unchecked Sendable {
    // Unchecked, because the closures are not marked Sendable: by Combine's contract, an upstream makes one call at a
    // time.
    private let upstream: Upstream
    private let onValue: (Input) -> Void
    private let onCompletion: (Subscribers.Completion<Failure>) -> Void

    init(
      _ upstream: Upstream, onValue: @escaping (Input) -> Void,
      onCompletion: @escaping (Subscribers.Completion<Failure>) -> Void
    ) {
      self.upstream = upstream
      self.onValue = onValue
      self.onCompletion = onCompletion
    }

    func receive(subscription: any Subscription) { if upstream.accept(subscription) { upstream.requestStored() } }

    func receive(_ input: Input) -> Subscribers.Demand {
      onValue(input)
      return .none  // the stage requests through `upstream` only
    }

    func receive(completion: Subscribers.Completion<Failure>) { if upstream.complete() { onCompletion(completion) } }
  }
#endif
