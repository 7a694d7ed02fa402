#if Combine
  #if canImport(Combine)
    public import Combine
  #else
    public import OpenCombine
  #endif
  internal import Scheduler

  extension Publisher {
    /// Delivers a value on `scheduler` when no newer value has arrived for `dueTime`: of a burst, only the newest
    /// value.
    ///
    /// One timer serves any number of values. A due value without demand waits until it is requested, or until a newer
    /// value replaces it.
    /// As in Combine, a completion does not wait for the timer: a value that is not yet due is dropped.
    public func debounce(
      for dueTime: CombineScheduler.SchedulerTimeType.Stride, scheduler: CombineScheduler,
      options: CombineScheduler.SchedulerOptions? = nil
    ) -> OperatorPublisher<Output, Failure> {
      OperatorPublisher { subscribe(Debounce($0, dueTime, nil, on: scheduler, options)) }
    }

    /// Delays a value that satisfies `predicate` until no newer value has arrived for `interval`. Delivers every other
    /// value at once. Both kinds are delivered on `scheduler` (ReactiveCocoa's `throttle:valuesPassingTest:`).
    ///
    /// A delayed value is dropped when a newer value of either kind arrives. At a completion the delayed value is
    /// delivered first, at once; a failure drops it. Values are requested without limit. Due values without demand
    /// wait, in order.
    ///
    /// - Parameters:
    ///   - interval: the quiet time that must follow a delayed value.
    ///   - scheduler: runs the timer and delivers the events.
    ///   - options: options for the scheduler's actions; nil means the scheduler's defaults.
    ///   - predicate: returns whether a value is delayed. It is called on the thread that sends the value, outside all
    ///     locks.
    public func throttle(
      for interval: CombineScheduler.SchedulerTimeType.Stride, scheduler: CombineScheduler,
      options: CombineScheduler.SchedulerOptions? = nil, valuesPassing predicate: @escaping (Output) -> Bool
    ) -> OperatorPublisher<Output, Failure> {
      OperatorPublisher { subscribe(Debounce($0, interval, predicate, on: scheduler, options)) }
    }
  }

  /// Stores the newest delayed value, and queues it when no newer value has arrived in time.
  private final class Debounce<Input, Failure: Error>: SingleUpstreamStage<Input, Input, Failure>, @unchecked Sendable {
    // Unchecked, as its superclass is.
    private let dueTime: Instant.Stride  // the quiet time that must follow a delayed value
    private let timer: StepRunner  // calls `queueDueValue` on the scheduler
    // Under the lock:
    private var latest: (value: Input, due: Instant)?  // the delayed value
    private var predicate: ((Input) -> Bool)?  // returns whether a value is delayed; nil: every value is

    init(
      _ downstream: any Subscriber<Input, Failure>, _ dueTime: Instant.Stride, _ predicate: ((Input) -> Bool)?,
      on scheduler: CombineScheduler, _ options: CombineScheduler.SchedulerOptions?
    ) {
      self.dueTime = dueTime
      self.predicate = predicate
      timer = StepRunner(scheduler, options)
      super.init(downstream, deliveringOn: scheduler, options)
    }

    override func receiveSubscription() {  // from upstream
      super.receiveSubscription()  // sends the downstream its subscription
      upstream.request(.unlimited)
    }

    /// Called when the downstream requests values. Requests nothing upstream: all values are requested already.
    override func requested(_ demand: Subscribers.Demand) { deliver() }

    /// Delays a value from upstream, or queues it at once if `predicate` returns false.
    override func receiveValue(_ value: Input) {
      if let predicate = lock.withLock({ predicate }), !predicate(value) {  // false: `value` is not delayed
        replaceLatest(nil) { enqueue(value) }  // drops the delayed value, and queues `value`
        return deliver()
      }
      let due = timer.now.advanced(by: dueTime)
      replaceLatest((value, due))
      armTimer(at: due)  // does nothing if it is armed for an older value: `queueDueValue` then arms it for this one
    }

    private func armTimer(at due: Instant) { timer.arm(at: due) { [self] now in queueDueValue(now) } }

    /// Called by the timer at `now`: delivers the delayed value if it is due.
    private func queueDueValue(_ now: Instant) {
      // One critical section takes and queues the value, so that no other event comes in between. next: when to call
      // again. old: values to release.
      let (next, old) = lock.withLock { () -> (Instant?, (Input, Fifo<Input>?)?) in
        guard let latest else { return (nil, nil) }  // dropped, or delivered at the completion
        if latest.due > now { return (latest.due, nil) }  // a newer value, which is due later
        self.latest = nil
        // debounce: replaces a due value that waits for demand. throttle(valuesPassing:): appends to the due values.
        if predicate == nil { return (nil, (latest.value, replaceQueue(with: latest.value))) }
        enqueue(latest.value)
        return (nil, (latest.value, nil))
      }
      if let next { return armTimer(at: next) }
      withExtendedLifetime(old) {}  // released outside the lock
      deliverNow()
    }

    override func receiveCompletion(_ completion: Subscribers.Completion<Failure>) {  // from upstream
      replaceLatest(nil) {  // nil: no value is delayed any more
        if case .finished = completion, predicate != nil, let latest { enqueue(latest.value) }  // debounce drops it
        enqueue(completion: completion)
      }
      deliver()
    }

    override func ended() {  // at the completion or a cancel, without the lock
      super.ended()  // cancels the upstream
      timer.dispose()
      let predicate = lock.withLock { self.predicate.take() }  // no value arrives any more: its captures are released
      replaceLatest(nil)  // releases the delayed value
      withExtendedLifetime(predicate) {}  // released outside the lock
    }

    /// Replaces the delayed value by `new`. Before that, and in the same critical section, calls `change`, which may
    /// edit the queue.
    private func replaceLatest(_ new: (value: Input, due: Instant)?, _ change: () -> Void = {}) {
      lock.lock()
      change()
      let old = latest
      latest = isLive ? new : nil  // nil: after the end no value is kept
      lock.unlock()
      withExtendedLifetime(old) {}  // released outside the lock
    }
  }
#endif
