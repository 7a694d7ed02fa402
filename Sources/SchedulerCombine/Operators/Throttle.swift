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
    /// ends. The completion is delivered after that value. A due value without demand waits. Meanwhile newer values replace the waiting value if
    /// `latest` is true; otherwise newer values are dropped.
    ///
    /// - Parameters:
    ///   - interval: the time from one delivery to the next.
    ///   - scheduler: runs the timer and delivers the events.
    ///   - latest: which of the values that arrived within the interval is delivered: true: the newest; false: the first.
    public func throttle(
      for interval: CombineScheduler.SchedulerTimeType.Stride, scheduler: CombineScheduler, latest: Bool
    ) -> OperatorPublisher<Output, Failure> {
      OperatorPublisher { subscribe(Throttle($0, interval, on: scheduler, latest: latest)) }
    }
  }

  /// Stores one value until the interval since the most recent delivery has passed.
  private final class Throttle<Input, Failure: Error>: SamplingStage<Input, Input, Failure>, @unchecked Sendable {
    // Unchecked, as its superclass is.
    private let interval: Instant.Stride  // from one delivery to the next
    private let isLatest: Bool  // delivers the newest value of an interval; false: the first
    // Under the lock:
    private var pending: Input?  // the value to deliver at the next due time
    private var pendingEnd: Subscribers.Completion<Failure>?  // the completion to deliver after `pending`
    private var lastDelivery: Instant?  // the time of the most recent delivery; nil: none yet

    init(
      _ downstream: any Subscriber<Input, Failure>, _ interval: Instant.Stride, on place: CombineScheduler, latest: Bool
    ) {
      self.interval = interval
      isLatest = latest
      super.init(downstream, on: place, nil)
    }

    override func receive(_ input: Input) -> Subscribers.Demand {  // a value from upstream
      lock.lock()
      let old = pending, lastDelivery = lastDelivery
      if isLive, old == nil || isLatest { pending = input }
      lock.unlock()
      if old == nil { wake(at: next(after: lastDelivery)) }  // otherwise the timer is armed already
      return .none
    }

    /// Returns when the next value may be delivered, if the most recent delivery was at `last`; nil: there was none.
    private func next(after last: Instant?) -> Instant {
      let now = place.now  // the scheduler's time
      return last.map { max($0.advanced(by: interval), now) } ?? now
    }

    override func due(_ instant: Instant) {  // the timer has reached `instant`
      // Append the value in the same critical section, because a completion may arrive at the same time.
      let old = lock.withLock { () -> (Input, Fifo<Input>?)? in
        defer { if let end = pendingEnd.take() { appendEnd(end) } }  // after the value
        guard let value = pending.take() else { return nil }
        lastDelivery = instant
        if isLatest { return (value, replaceQueue(value)) }  // replaces a value that waits for demand
        if waiting == 0 { append(value) }  // otherwise a value waits for demand, and the new value is dropped
        return (value, nil)
      }
      withExtendedLifetime(old) {}  // values are released outside the lock
      deliverOnThisThread()
    }

    override func completed(_ completion: Subscribers.Completion<Failure>) {  // the upstream has ended
      let waitsForValue = lock.withLock {
        if pending != nil { pendingEnd = completion } else { appendEnd(completion) }
        return pending != nil
      }
      if !waitsForValue { scheduleDelivery() }
    }

    override func ended() {  // at the completion or a cancel, without the lock
      super.ended()
      lock.lock()
      let old = (pending.take(), pendingEnd.take())
      lock.unlock()
      withExtendedLifetime(old) {}  // released outside the lock
    }
  }
#endif
