#if Combine
  #if canImport(Combine)
    public import Combine
  #else
    public import OpenCombine
  #endif
  internal import Scheduler

  extension Publisher {
    /// Delivers all events on `scheduler`, and completes when none has come for `interval`: since the subscription, the first request, or the last
    /// value.
    ///
    /// What came in time is delivered before that end. The upstream is cancelled. On a scheduler whose delayed actions have their caller wait
    /// (`ImmediateScheduler`, `CurrentThreadScheduler`) the subscription waits for the interval, and has then timed out.
    ///
    /// - Parameters:
    ///   - interval: how long nothing may come.
    ///   - scheduler: what the timer is on, and delivers.
    ///   - options: with what its actions run; nil: as its others do.
    ///   - customError: makes the failure; without it the end is `.finished`.
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
    // Under the lock.
    private var makeError: (() -> Failure)?
    private var end: Instant?
    private var isAsked = false

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
      wake(at: putOff())
    }

    override func wanted(_ demand: Subscribers.Demand) {
      let isFirst = lock.withLock {
        defer { isAsked = true }
        return !isAsked
      }
      if isFirst { putOff() }
      super.wanted(demand)
    }

    override func receive(_ input: Input) -> Subscribers.Demand {
      putOff()
      return super.receive(input)
    }

    @discardableResult
    private func putOff() -> Instant {
      let new = place.now.advanced(by: interval)
      lock.withLock { end = new }
      return new
    }

    override func due(_ instant: Instant) {
      if let end = lock.withLock({ end }), end > instant { return wake(at: end) }
      upstream.cancel()
      let makeError = lock.withLock { self.makeError.take() }
      pushEnd(makeError.map { .failure($0()) } ?? .finished)
      deliverHere()
    }

    override func completed(_ completion: Subscribers.Completion<Failure>) {
      timer.dispose()
      super.completed(completion)
    }

    override func ended() {
      super.ended()
      let makeError = lock.withLock { self.makeError.take() }
      withExtendedLifetime(makeError) {}  // it ends outside of the lock
    }
  }
#endif
