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

  /// Sends each event from upstream, on the scheduler. Its timer ends the publisher at `timeoutTime`.
  private final class Timeout<Input, Failure: Error>: SingleUpstreamStage<Input, Input, Failure>, @unchecked Sendable {
    // Unchecked, as its superclass is.
    private let interval: Instant.Stride  // the longest time without a value
    private let timer: StepRunner  // calls `checkTimeout` on the scheduler
    // Under the lock:
    private var makeError: (() -> Failure)?  // nil: the timeout is a normal completion
    private var timeoutTime: Instant?  // when the publisher times out if no value arrives before
    private var hasRequested = false  // the downstream has requested values

    init(
      _ downstream: any Subscriber<Input, Failure>, _ interval: Instant.Stride, on scheduler: CombineScheduler,
      _ options: CombineScheduler.SchedulerOptions?, _ makeError: (() -> Failure)?
    ) {
      self.interval = interval
      self.makeError = makeError
      timer = StepRunner(scheduler, options)
      super.init(downstream, deliveringOn: scheduler, options)
    }

    override func receiveSubscription() {  // from upstream
      super.receiveSubscription()  // sends the downstream its subscription
      armTimer(at: extendDeadline())  // from now on `checkTimeout` arms it again
    }

    override func requested(_ demand: Subscribers.Demand) {  // by the downstream
      let isFirst = lock.withLock {
        defer { hasRequested = true }
        return !hasRequested
      }
      if isFirst { extendDeadline() }  // the first request counts like a value, later ones do not
      super.requested(demand)  // requests upstream, and delivers values that waited for demand
    }

    override func receiveValue(_ value: Input) {  // from upstream
      extendDeadline()
      send(value)
    }

    private func armTimer(at due: Instant) { timer.arm(at: due) { [self] now in checkTimeout(now) } }

    /// Moves the timeout to one interval from now, and returns that time. Does not move the armed timer, which
    /// `checkTimeout` arms again: this is cheaper.
    @discardableResult
    private func extendDeadline() -> Instant {
      let new = timer.now.advanced(by: interval)
      lock.withLock { timeoutTime = new }
      return new
    }

    /// Called by the timer at `now`: times out, or arms the timer again.
    private func checkTimeout(_ now: Instant) {
      if let later = lock.withLock({ timeoutTime }), later > now { return armTimer(at: later) }
      upstream.cancel()  // the source must send no more
      let makeError = lock.withLock { self.makeError.take() }
      let completion = makeError.map { .failure($0()) } ?? Subscribers.Completion.finished
      lock.withLock { enqueue(completion: completion) }  // behind the values that arrived in time
      deliverNow()
    }

    override func receiveCompletion(_ completion: Subscribers.Completion<Failure>) {  // from upstream
      timer.dispose()  // queued events wait for demand without a timeout
      send(completion: completion)
    }

    override func ended() {  // at the completion or a cancel, without the lock
      super.ended()  // cancels the upstream
      timer.dispose()
      let makeError = lock.withLock { self.makeError.take() }
      withExtendedLifetime(makeError) {}  // released outside the lock
    }
  }
#endif
