#if Combine
  #if canImport(Combine)
    internal import Combine
  #else
    internal import OpenCombine
  #endif
  internal import Scheduler

  /// An operator's upstream end. It keeps requests that arrive before the subscription.
  final class Upstream: @unchecked Sendable {
    // Unchecked, because a subscription is not Sendable: the lock guards it, and its contract allows use from any thread.
    private struct State {
      var subscription: (any Subscription)?
      var early: Subscribers.Demand = .none
      var isOver = false
    }

    private let lock = UnfairLock()
    private var state = State()

    /// Takes the subscription. If there is one already, or this end is over, cancels it and returns false.
    func accept(_ subscription: any Subscription) -> Bool {
      lock.lock()
      guard !state.isOver, state.subscription == nil else {
        lock.unlock()
        subscription.cancel()
        return false
      }
      state.subscription = subscription
      lock.unlock()
      return true
    }

    /// Whether a subscription was accepted, or this end is over. Requests are then no longer kept.
    var isAccepted: Bool { lock.withLock { state.subscription != nil || state.isOver } }

    /// Passes on the requests made before the subscription arrived.
    func requestEarly() {
      let early = lock.withLock {
        defer { state.early = .none }
        return state.early
      }
      request(early)
    }

    /// Requests more values, now or when the subscription arrives.
    func request(_ demand: Subscribers.Demand) {
      guard demand > .none else { return }
      lock.lock()
      let subscription = state.subscription
      if subscription == nil, !state.isOver { state.early += demand }
      lock.unlock()
      subscription?.request(demand)
    }

    /// Records the completion. Returns false if this end was over already.
    func complete() -> Bool {
      lock.lock()
      let wasOver = state.isOver, subscription = state.subscription.take()
      state.isOver = true
      lock.unlock()
      withExtendedLifetime(subscription) {}  // released outside the lock
      return !wasOver
    }

    /// Cancels the subscription, now or when it arrives.
    func cancel() {
      lock.lock()
      let subscription = state.subscription.take()
      state.isOver = true
      lock.unlock()
      subscription?.cancel()
    }
  }
#endif
