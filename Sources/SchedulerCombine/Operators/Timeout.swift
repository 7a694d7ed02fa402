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
    /// The time counts from the most recent of the subscription, the first request and each value. At the timeout the
    /// upstream is cancelled. Values that arrived in time are delivered before the end. `ImmediateScheduler` and
    /// `CurrentThreadScheduler` block the caller for delayed actions: on these, subscribing blocks for the interval and
    /// then times out.
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

  /// Delivers events on the scheduler, as ``ReceiveOn`` does. Its timer ends the publisher at `timeoutTime`.
  private final class Timeout<Input, Failure: Error>: ReceiveOn<Input, Failure>, @unchecked Sendable {
    // Unchecked, as its superclass is.
    private let interval: Instant.Stride  // the longest time without a value
    // Under the lock:
    private var makeError: (() -> Failure)?  // nil: the timeout is a normal completion
    private var timeoutTime: Instant?  // when the publisher times out if no value arrives before
    private var hasRequested = false  // the subscriber has requested values

    init(
      _ downstream: any Subscriber<Input, Failure>, _ interval: Instant.Stride, on place: CombineScheduler,
      _ options: CombineScheduler.SchedulerOptions?, _ makeError: (() -> Failure)?
    ) {
      self.interval = interval
      self.makeError = makeError
      super.init(downstream, on: place, options)
    }

    override func subscribed() {  // the upstream has sent its subscription
      super.subscribed()
      wake(at: extendDeadline())  // arms the timer; from now on `due` arms it again
    }

    override func wanted(_ demand: Subscribers.Demand) {  // the subscriber has requested more
      let isFirst = lock.withLock {
        defer { hasRequested = true }
        return !hasRequested
      }
      if isFirst { extendDeadline() }  // the first request counts like a value, later ones do not
      super.wanted(demand)
    }

    override func receive(_ input: Input) -> Subscribers.Demand {  // a value from upstream, delivered on the scheduler
      extendDeadline()
      return super.receive(input)
    }

    /// Moves the timeout to one interval from now, and returns that time. Does not move the armed timer, which `due`
    /// arms again: this is cheaper.
    @discardableResult
    private func extendDeadline() -> Instant {
      let new = place.now.advanced(by: interval)  // by the scheduler's clock
      lock.withLock { timeoutTime = new }
      return new
    }

    override func due(_ instant: Instant) {  // the timer has reached `instant`: times out, or waits again
      if let later = lock.withLock({ timeoutTime }), later > instant { return wake(at: later) }
      upstream.cancel()  // the source must send no more
      let makeError = lock.withLock { self.makeError.take() }
      pushEnd(makeError.map { .failure($0()) } ?? .finished)  // behind the values that arrived in time
      deliverOnThisThread()
    }

    override func completed(_ completion: Subscribers.Completion<Failure>) {  // the upstream has ended
      timer.dispose()  // queued events wait for demand without a timeout
      super.completed(completion)
    }

    override func ended() {  // at the completion or a cancel, without the lock
      super.ended()
      let makeError = lock.withLock { self.makeError.take() }
      withExtendedLifetime(makeError) {}  // released outside the lock
    }
  }
#endif
