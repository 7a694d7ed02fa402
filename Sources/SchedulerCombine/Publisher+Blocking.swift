#if Combine
  public import OpenCombine
  public import Scheduler

  extension Publisher where Output: Sendable {
    /// Returns this publisher as one to wait for, from synchronous code.
    ///
    /// ```swift
    /// let first = try prices.toBlocking(timeout: .seconds(5)).first()
    /// ```
    ///
    /// Values are asked for one at a time, and no more than the wait wants: so `first()` ends with a publisher that never does. One that
    /// sends without end from within its subscription is stopped by a timeout above zero; unless an operator in between swallows all.
    ///
    /// - Parameters:
    ///   - timeout: how long each wait may take: see `BlockingObservable`.
    ///   - scheduler: what the publisher needs in order to end, if you know it. A wait that would keep that very queue from going on then
    ///     fails at once with `SchedulerError.deadlock`. Without it such a wait ends by the timeout only.
    public func toBlocking(timeout: Duration? = nil, needing scheduler: SchedulerTarget? = nil)
      -> BlockingObservable<Output>
    {
      BlockingObservable(timeout: timeout, needing: scheduler) { next, end in
        let deadline = timeout.flatMap { $0 > .zero ? MonotonicTime.now.advanced(by: $0) : nil }
        let subscriber = BlockingSubscriber<Output, Failure>(
          next: { value in
            if let deadline, MonotonicTime.now >= deadline { end(SchedulerError.timeout) }
            return next(value)
          }, end: end)
        subscribe(subscriber)
        return subscriber
      }
    }

    /// Returns this publisher as one to wait for, with RxBlocking's timeout, in seconds: for ever, where that is more than the clock can hold.
    public func toBlocking(timeout: Double, needing scheduler: SchedulerTarget? = nil) -> BlockingObservable<Output> {
      toBlocking(timeout: .held(seconds: timeout), needing: scheduler)
    }
  }

  /// Hands a publisher's values on, and asks for the next when one is wanted.
  final class BlockingSubscriber<Input: Sendable, Failure: Error>: Subscriber, Disposable, @unchecked Sendable {
    // Unchecked, because a subscription is not Sendable: it is touched under the lock, and may be cancelled on any thread by its contract.
    private struct State {
      var subscription: (any Subscription)?
      var isDisposed = false
    }

    private let next: @Sendable (Input) -> Bool
    private let end: @Sendable ((any Error)?) -> Void
    private let lock = UnfairLock()
    private var state = State()

    init(next: @escaping @Sendable (Input) -> Bool, end: @escaping @Sendable ((any Error)?) -> Void) {
      (self.next, self.end) = (next, end)
    }

    func receive(subscription: any Subscription) {
      let isWanted = lock.withLock {
        guard !state.isDisposed, state.subscription == nil else { return false }
        state.subscription = subscription
        return true
      }
      if isWanted { subscription.request(.max(1)) } else { subscription.cancel() }
    }

    func receive(_ input: Input) -> Subscribers.Demand { next(input) ? .max(1) : .none }

    func receive(completion: Subscribers.Completion<Failure>) {
      let ended = lock.withLock { state.subscription.take() }
      switch completion {
      case .finished: end(nil)
      case .failure(let error): end(error)
      }
      withExtendedLifetime(ended) {}  // it ends outside of the lock
    }

    var isDisposed: Bool { lock.withLock { state.isDisposed } }

    func dispose() {
      let subscription = lock.withLock {
        state.isDisposed = true
        return state.subscription.take()
      }
      subscription?.cancel()
    }
  }
#endif
