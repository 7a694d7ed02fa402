#if Combine
  #if canImport(Combine)
    public import Combine
  #else
    public import OpenCombine
  #endif
  internal import Scheduler

  extension Publisher {
    /// Delivers at most one value in each `interval`, on `scheduler`.
    ///
    /// The first value is delivered at once. Of the values that arrive within an interval after a delivery, one is delivered when the interval
    /// ends. The completion is delivered after that value. A due value waits for demand. Meanwhile newer values replace it if `latest` is true;
    /// otherwise they are dropped.
    ///
    /// - Parameters:
    ///   - interval: the time from one delivery to the next.
    ///   - scheduler: runs the timer and delivers the events.
    ///   - latest: whether the last or the first of the values that arrived within the interval is delivered.
    public func throttle(
      for interval: CombineScheduler.SchedulerTimeType.Stride, scheduler: CombineScheduler, latest: Bool
    ) -> OperatorPublisher<Output, Failure> {
      OperatorPublisher { subscribe(Throttle($0, interval, on: scheduler, latest: latest)) }
    }
  }

  private final class Throttle<Input, Failure: Error>: SamplingStage<Input, Input, Failure>, @unchecked Sendable {
    // Unchecked, as its superclass is.
    private let interval: Instant.Stride
    private let isLatest: Bool
    // Under the lock: the value and the completion for the next due time, and the time of the last delivery.
    private var pending: Input?
    private var end: Subscribers.Completion<Failure>?
    private var last: Instant?

    init(
      _ downstream: any Subscriber<Input, Failure>, _ interval: Instant.Stride, on place: CombineScheduler, latest: Bool
    ) {
      self.interval = interval
      isLatest = latest
      super.init(downstream, on: place, nil)
    }

    override func receive(_ input: Input) -> Subscribers.Demand {
      lock.lock()
      let old = pending, last = last
      if isLive, old == nil || isLatest { pending = input }
      lock.unlock()
      if old == nil { wake(at: next(after: last)) }
      return .none
    }

    /// Returns when the next value may be delivered, if the last delivery was at `last`.
    private func next(after last: Instant?) -> Instant {
      let now = place.now
      return last.map { max($0.advanced(by: interval), now) } ?? now
    }

    override func due(_ instant: Instant) {
      // Append the value in the same critical section, because a completion may arrive at the same time.
      let old = lock.withLock { () -> (Input, Fifo<Input>?)? in
        defer { if let end = end.take() { appendEnd(end) } }
        guard let value = pending.take() else { return nil }
        last = instant
        if isLatest { return (value, replaceQueue(value)) }
        if waiting == 0 { append(value) }
        return (value, nil)
      }
      withExtendedLifetime(old) {}  // values are released outside the lock
      deliverOnThisThread()
    }

    override func completed(_ completion: Subscribers.Completion<Failure>) {
      let waitsForValue = lock.withLock {
        if pending != nil { end = completion } else { appendEnd(completion) }
        return pending != nil
      }
      if !waitsForValue { scheduleDelivery() }
    }

    override func ended() {
      super.ended()
      lock.lock()
      let old = (pending.take(), end.take())
      lock.unlock()
      withExtendedLifetime(old) {}  // released outside the lock
    }
  }
#endif
