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
    /// The first value is delivered at once. Of the values that arrive within an interval after a delivery, one is
    /// delivered when the interval ends. The completion is delivered after that value. A due value without demand
    /// waits. Meanwhile newer values replace the waiting value if `latest` is true; otherwise newer values are dropped.
    ///
    /// - Parameters:
    ///   - interval: the time from one delivery to the next.
    ///   - scheduler: runs the timer and delivers the events.
    ///   - latest: which of the values that arrived within the interval is delivered: true: the newest; false: the
    ///     first.
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
      super.init(downstream, on: place, nil)  // nil: the scheduler's default options
    }

    /// Stores a value from upstream; drops it if a value is stored already and `isLatest` is false. Returns no demand:
    /// the request was unlimited.
    override func receive(_ input: Input) -> Subscribers.Demand {
      lock.lock()
      let old = pending, lastDelivery = lastDelivery  // old: a replaced value is released after the unlock
      if isLive, old == nil || isLatest { pending = input }
      lock.unlock()
      if old == nil { wake(at: nextDue(after: lastDelivery)) }  // otherwise the timer is armed already
      return .none
    }

    /// Returns when the next value may be delivered, if the most recent delivery was at `last` (nil: there was none).
    /// Never a past time.
    private func nextDue(after last: Instant?) -> Instant {
      let now = place.now  // the scheduler's time
      return last.map { max($0.advanced(by: interval), now) } ?? now
    }

    override func due(_ instant: Instant) {  // at the timer's instant: delivers what is stored
      // One critical section takes the value and queues it: a completion that arrives at the same time must not
      // overtake it.
      let old = lock.withLock { () -> (Input, Fifo<Input>?)? in
        defer { if let end = pendingEnd.take() { appendEnd(end) } }  // runs last: the completion follows the value
        guard let value = pending.take() else { return nil }
        lastDelivery = instant
        if isLatest { return (value, replaceQueue(value)) }  // replaces a value that waits for demand
        if waiting == 0 { append(value) }  // otherwise a value waits for demand, and the new value is dropped
        return (value, nil)
      }
      withExtendedLifetime(old) {}  // replaced and dropped values are released here, outside the lock
      deliverOnThisThread()
    }

    override func completed(_ completion: Subscribers.Completion<Failure>) {  // the upstream has ended
      let waitsForValue = lock.withLock {
        if pending != nil { pendingEnd = completion } else { appendEnd(completion) }
        return pending != nil
      }
      if !waitsForValue { scheduleDelivery() }  // otherwise `due` delivers the value, then the completion
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
