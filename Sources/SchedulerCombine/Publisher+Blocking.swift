#if Combine
  public import OpenCombine
  public import Scheduler

  extension Publisher where Output: Sendable {
    /// Returns a view of this publisher that synchronous code can wait for.
    ///
    /// ```swift
    /// let first = try prices.toBlocking(timeout: .seconds(5)).first()
    /// ```
    ///
    /// Values are requested one at a time, and only as many as the wait needs: `first()` returns even if the publisher
    /// never ends. A timeout above zero also stops a publisher that sends without end while it is being subscribed to,
    /// unless an operator in between drops all values.
    ///
    /// - Parameters:
    ///   - timeout: how long each wait may take: see `BlockingObservable`.
    ///   - scheduler: the scheduler that the publisher needs in order to end, if known. A wait that would block that
    ///     scheduler then fails at once with `SchedulerError.deadlock`. Without it, only the timeout ends such a wait.
    public func toBlocking(timeout: Duration? = nil, needing scheduler: SchedulerTarget? = nil)
      -> BlockingObservable<Output>
    {
      BlockingObservable(timeout: timeout, needing: scheduler) { next, end in
        // A publisher may send without end inside `subscribe`, before the wait with its timeout begins. This deadline
        // stops it.
        let deadline = timeout.flatMap { $0 > .zero ? MonotonicTime.now.advanced(by: $0) : nil }
        let subscriber = BlockingSubscriber<Output, Failure>(
          next: { value in
            if let deadline, MonotonicTime.now >= deadline { end(SchedulerError.timeout) }
            return next(value)  // false: the wait needs no more values, or `end` was called
          }, end: end)
        subscribe(subscriber)
        return subscriber  // its disposal cancels the subscription
      }
    }

    /// Returns a view to wait for, with RxBlocking's timeout in seconds. A timeout beyond the clock's range waits
    /// without limit.
    public func toBlocking(timeout: Double, needing scheduler: SchedulerTarget? = nil) -> BlockingObservable<Output> {
      toBlocking(timeout: .held(seconds: timeout), needing: scheduler)
    }
  }

  /// Calls `next` with each value, and requests another value if `next` returns true. Calls `end` at the completion.
  final class BlockingSubscriber<Input: Sendable, Failure: Error>: Subscriber, Disposable, @unchecked Sendable {
    // Unchecked, because a subscription is not Sendable: it is accessed under the lock, and its contract allows
    // cancelling on any thread.
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
      let isWanted = lock.withLock {  // false: this was disposed before, or has a subscription already
        guard !state.isDisposed, state.subscription == nil else { return false }
        state.subscription = subscription
        return true
      }
      if isWanted { subscription.request(.max(1)) } else { subscription.cancel() }
    }

    func receive(_ input: Input) -> Subscribers.Demand { next(input) ? .max(1) : .none }

    func receive(completion: Subscribers.Completion<Failure>) {
      let ended = lock.withLock { state.subscription.take() }  // a later `dispose` need not cancel it
      switch completion {
      case .finished: end(nil)
      case .failure(let error): end(error)
      }
      withExtendedLifetime(ended) {}  // released outside the lock
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
