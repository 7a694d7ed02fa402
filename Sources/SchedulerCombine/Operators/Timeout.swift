#if Combine
  #if canImport(Combine)
    public import Combine
  #else
    public import OpenCombine
  #endif
  internal import Scheduler

  extension Publisher {
    /// Delivers all events on `scheduler`, and ends when no value has arrived for `interval`.
    ///
    /// The time counts from the subscription, the first request, or the last value. Values that arrived in time are delivered before that end,
    /// and the upstream is cancelled. `ImmediateScheduler` and `CurrentThreadScheduler` block the caller for delayed actions: there, subscribing
    /// blocks for the interval and then times out.
    ///
    /// - Parameters:
    ///   - interval: the longest time without a value.
    ///   - scheduler: runs the timer and delivers the events.
    ///   - options: options for the scheduler's actions; nil means the scheduler's defaults.
    ///   - customError: creates the failure; without it the publisher finishes.
    public func timeout(
      _ interval: CombineScheduler.SchedulerTimeType.Stride, scheduler: CombineScheduler,
      options: CombineScheduler.SchedulerOptions? = nil, customError: (() -> Failure)? = nil
    ) -> OperatorPublisher<Output, Failure> {
      OperatorPublisher { subscribe(Timeout($0, interval, on: scheduler, options, customError)) }
    }
  }

  private final class Timeout<Input, Failure: Error>: ReceiveOn<Input, Failure>, @unchecked Sendable {
    // Unchecked, as its superclass is.
    private let interval: Instant.Stride
    // Under the lock. `end`: when the publisher times out if no value arrives before.
    private var makeError: (() -> Failure)?
    private var end: Instant?
    private var hasRequested = false

    init(
      _ downstream: any Subscriber<Input, Failure>, _ interval: Instant.Stride, on place: CombineScheduler,
      _ options: CombineScheduler.SchedulerOptions?, _ makeError: (() -> Failure)?
    ) {
      self.interval = interval
      self.makeError = makeError
      super.init(downstream, on: place, options)
    }

    override func subscribed() {
      super.subscribed()
      wake(at: extendDeadline())
    }

    override func wanted(_ demand: Subscribers.Demand) {
      let isFirst = lock.withLock {
        defer { hasRequested = true }
        return !hasRequested
      }
      if isFirst { extendDeadline() }
      super.wanted(demand)
    }

    override func receive(_ input: Input) -> Subscribers.Demand {
      extendDeadline()
      return super.receive(input)
    }

    @discardableResult
    private func extendDeadline() -> Instant {
      let new = place.now.advanced(by: interval)
      lock.withLock { end = new }
      return new
    }

    override func due(_ instant: Instant) {
      if let end = lock.withLock({ end }), end > instant { return wake(at: end) }
      upstream.cancel()
      let makeError = lock.withLock { self.makeError.take() }
      pushEnd(makeError.map { .failure($0()) } ?? .finished)
      deliverOnThisThread()
    }

    override func completed(_ completion: Subscribers.Completion<Failure>) {
      timer.dispose()
      super.completed(completion)
    }

    override func ended() {
      super.ended()
      let makeError = lock.withLock { self.makeError.take() }
      withExtendedLifetime(makeError) {}  // released outside the lock
    }
  }
#endif
