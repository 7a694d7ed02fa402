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
  private final class Throttle<Input, Failure: Error>: SingleUpstreamStage<Input, Input, Failure>, @unchecked Sendable {
    // Unchecked, as its superclass is.
    private let interval: Instant.Stride  // from one delivery to the next
    private let isLatest: Bool  // delivers the newest value of an interval; false: the first
    private let timer: StepRunner  // calls `queuePending` on the scheduler
    // Under the lock:
    private var pending: Input?  // the value to deliver at the next due time
    private var pendingCompletion: Subscribers.Completion<Failure>?  // the completion to deliver after `pending`
    private var lastDelivery: Instant?  // the time of the most recent delivery; nil: none yet

    init(
      _ downstream: any Subscriber<Input, Failure>, _ interval: Instant.Stride, on scheduler: CombineScheduler,
      latest: Bool
    ) {
      self.interval = interval
      isLatest = latest
      timer = StepRunner(scheduler, nil)  // nil: the scheduler's default options
      super.init(downstream, deliveringOn: scheduler)
    }

    override func receiveSubscription() {  // from upstream
      super.receiveSubscription()  // sends the downstream its subscription
      upstream.request(.unlimited)
    }

    /// Called when the downstream requests values. Requests nothing upstream: all values are requested already.
    override func requested(_ demand: Subscribers.Demand) { deliver() }

    /// Stores a value from upstream; drops it if a value is stored already and `isLatest` is false.
    override func receiveValue(_ value: Input) {
      lock.lock()
      let old = pending, lastDelivery = lastDelivery  // old: a replaced value is released after the unlock
      if isLive, old == nil || isLatest { pending = value }
      lock.unlock()
      guard old == nil else { return }  // the timer is armed already
      timer.arm(at: nextDue(after: lastDelivery)) { [self] now in queuePending(now) }
    }

    /// Returns when the next value may be delivered, if the most recent delivery was at `last` (nil: there was none).
    /// Never a past time.
    private func nextDue(after last: Instant?) -> Instant {
      let now = timer.now
      return last.map { max($0.advanced(by: interval), now) } ?? now
    }

    /// Called by the timer at `now`: delivers what is stored.
    private func queuePending(_ now: Instant) {
      // One critical section takes the value and queues it: a completion that arrives at the same time must not
      // overtake it.
      let old = lock.withLock { () -> (Input, Fifo<Input>?)? in
        // runs last: the completion follows the value
        defer { if let completion = pendingCompletion.take() { enqueue(completion: completion) } }
        guard let value = pending.take() else { return nil }
        lastDelivery = now
        if isLatest { return (value, replaceQueue(with: value)) }  // replaces a value that waits for demand
        if queuedCount == 0 { enqueue(value) }  // otherwise a value waits for demand, and the new value is dropped
        return (value, nil)
      }
      withExtendedLifetime(old) {}  // replaced and dropped values are released here, outside the lock
      deliverNow()
    }

    override func receiveCompletion(_ completion: Subscribers.Completion<Failure>) {  // from upstream
      let waitsForValue = lock.withLock {
        if pending != nil { pendingCompletion = completion } else { enqueue(completion: completion) }
        return pending != nil
      }
      if !waitsForValue { deliver() }  // otherwise `queuePending` delivers the value, then the completion
    }

    override func ended() {  // at the completion or a cancel, without the lock
      super.ended()  // cancels the upstream
      timer.dispose()
      lock.lock()
      let old = (pending.take(), pendingCompletion.take())
      lock.unlock()
      withExtendedLifetime(old) {}  // released outside the lock
    }
  }
#endif
