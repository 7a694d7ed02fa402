#if Combine
  #if canImport(Combine)
    internal import Combine
  #else
    internal import OpenCombine
  #endif
  internal import Scheduler

  /// An operator's end of what is above it. Requests that come before the subscription are kept for it.
  final class Upstream: @unchecked Sendable {
    // Unchecked, because a subscription is not Sendable: it is touched under the lock, and used from any thread by its contract.
    private struct State {
      var subscription: (any Subscription)?
      var early: Subscribers.Demand = .none
      var isOver = false
    }

    private let lock = UnfairLock()
    private var state = State()

    /// Takes the subscription. Returns false, and cancels it, where there is one already, or it is over.
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

    /// Whether there is one, or it is over: then nothing is kept for it.
    var isAccepted: Bool { lock.withLock { state.subscription != nil || state.isOver } }

    /// Asks for what was asked for before the subscription came.
    func requestEarly() {
      let early = lock.withLock {
        defer { state.early = .none }
        return state.early
      }
      request(early)
    }

    /// Asks for more.
    func request(_ demand: Subscribers.Demand) {
      guard demand > .none else { return }
      lock.lock()
      let subscription = state.subscription
      if subscription == nil, !state.isOver { state.early += demand }
      lock.unlock()
      subscription?.request(demand)
    }

    /// Notes that it has completed. Returns whether it had not been over.
    func complete() -> Bool {
      lock.lock()
      let wasOver = state.isOver, subscription = state.subscription.take()
      state.isOver = true
      lock.unlock()
      withExtendedLifetime(subscription) {}  // it ends outside of the lock
      return !wasOver
    }

    /// Ends it, now or when it comes.
    func cancel() {
      lock.lock()
      let subscription = state.subscription.take()
      state.isOver = true
      lock.unlock()
      subscription?.cancel()
    }
  }
#endif
