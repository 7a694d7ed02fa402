#if Combine
  #if canImport(Combine)
    public import Combine
  #else
    public import OpenCombine
  #endif
  internal import Scheduler

  extension Publisher {
    /// Delivers a value on `scheduler` when no newer value has arrived for `dueTime`: of a burst, only the newest value.
    ///
    /// One timer serves any number of values. A due value without demand waits until it is requested, or until a newer value replaces it.
    /// As in Combine, a completion does not wait for the timer: a value that is not yet due is dropped.
    public func debounce(
      for dueTime: CombineScheduler.SchedulerTimeType.Stride, scheduler: CombineScheduler,
      options: CombineScheduler.SchedulerOptions? = nil
    ) -> OperatorPublisher<Output, Failure> {
      OperatorPublisher { subscribe(Debounce($0, dueTime, nil, on: scheduler, options)) }
    }

    /// Delays a value that satisfies `predicate` until no newer value has arrived for `interval`. Delivers every other value at once. Both kinds
    /// are delivered on `scheduler` (ReactiveCocoa's `throttle:valuesPassingTest:`).
    ///
    /// A delayed value is dropped when a newer value of either kind arrives. At a completion the delayed value is delivered first, at once; a
    /// failure drops it. Values are requested without limit. Due values without demand wait, in order.
    ///
    /// - Parameters:
    ///   - interval: the quiet time that must follow a delayed value.
    ///   - scheduler: runs the timer and delivers the events.
    ///   - options: options for the scheduler's actions; nil means the scheduler's defaults.
    ///   - predicate: returns whether a value is delayed. It is called on the thread that sends the value, outside all locks.
    public func throttle(
      for interval: CombineScheduler.SchedulerTimeType.Stride, scheduler: CombineScheduler,
      options: CombineScheduler.SchedulerOptions? = nil, valuesPassing predicate: @escaping (Output) -> Bool
    ) -> OperatorPublisher<Output, Failure> {
      OperatorPublisher { subscribe(Debounce($0, interval, predicate, on: scheduler, options)) }
    }
  }

  /// Stores the newest delayed value, and queues it when no newer value has arrived in time.
  private final class Debounce<Input, Failure: Error>: SamplingStage<Input, Input, Failure>, @unchecked Sendable {
    // Unchecked, as its superclass is.
    private let dueTime: Instant.Stride  // the quiet time that must follow a delayed value
    // Under the lock:
    private var latest: (value: Input, due: Instant)?  // the delayed value
    private var predicate: ((Input) -> Bool)?  // returns whether a value is delayed; nil: every value is

    init(
      _ downstream: any Subscriber<Input, Failure>, _ dueTime: Instant.Stride, _ predicate: ((Input) -> Bool)?,
      on place: CombineScheduler, _ options: CombineScheduler.SchedulerOptions?
    ) {
      self.dueTime = dueTime
      self.predicate = predicate
      super.init(downstream, on: place, options)
    }

    override func receive(_ input: Input) -> Subscribers.Demand {  // a value from upstream
      if let predicate = lock.withLock({ predicate }), !predicate(input) {  // false: `input` is not delayed
        replaceLatest(nil) { append(input) }  // drops the delayed value, and queues `input`
        scheduleDelivery()
        return .none
      }
      let due = place.now.advanced(by: dueTime)  // by the scheduler's clock
      replaceLatest((input, due))
      wake(at: due)  // arms the timer, unless it is armed for an older value
      return .none
    }

    override func due(_ instant: Instant) {  // the timer has reached `instant`
      // Append in the same critical section, because other events may arrive at the same time. `next`: when to wake again. `old`: values to release.
      let (next, old) = lock.withLock { () -> (Instant?, (Input, Fifo<Input>?)?) in
        guard let latest else { return (nil, nil) }
        if latest.due > instant { return (latest.due, nil) }  // a newer value, which is due later
        self.latest = nil
        // debounce: replaces a due value that waits for demand. throttle(valuesPassing:): appends to the due values.
        if predicate == nil { return (nil, (latest.value, replaceQueue(latest.value))) }
        append(latest.value)
        return (nil, (latest.value, nil))
      }
      if let next { return wake(at: next) }
      withExtendedLifetime(old) {}  // values are released outside the lock
      deliverOnThisThread()
    }

    override func completed(_ completion: Subscribers.Completion<Failure>) {  // the upstream has ended
      replaceLatest(nil) {
        if case .finished = completion, predicate != nil, let latest { append(latest.value) }  // debounce drops it
        appendEnd(completion)
      }
      scheduleDelivery()
    }

    override func ended() {  // at the completion or a cancel, without the lock
      super.ended()
      let predicate = lock.withLock { self.predicate.take() }
      replaceLatest(nil)
      withExtendedLifetime(predicate) {}  // released outside the lock
    }

    /// Replaces `latest` by `new`, after `change` has edited the queue in the same critical section.
    private func replaceLatest(_ new: (value: Input, due: Instant)?, _ change: () -> Void = {}) {
      lock.lock()
      change()
      let old = latest
      latest = isLive ? new : nil
      lock.unlock()
      withExtendedLifetime(old) {}  // released outside the lock
    }
  }
#endif
