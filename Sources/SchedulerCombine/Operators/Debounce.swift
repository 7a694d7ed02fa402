#if Combine
  #if canImport(Combine)
    public import Combine
  #else
    public import OpenCombine
  #endif
  internal import Scheduler

  extension Publisher {
    /// Delivers a value once none has come for `dueTime`, on `scheduler`: the last one of a burst.
    ///
    /// One timer waits, however many values come. A value that is due before it is asked for waits for that, or for a newer one. As in
    /// Combine, a completion comes at once, and what was not due by then is left out.
    public func debounce(
      for dueTime: CombineScheduler.SchedulerTimeType.Stride, scheduler: CombineScheduler,
      options: CombineScheduler.SchedulerOptions? = nil
    ) -> OperatorPublisher<Output, Failure> {
      OperatorPublisher { subscribe(Debounce($0, dueTime, nil, on: scheduler, options)) }
    }

    /// Delivers a value that `predicate` holds for once no other has come for `interval`, and each other value at once, on `scheduler`
    /// (ReactiveCocoa's `throttle:valuesPassingTest:`).
    ///
    /// A value that waits is left out when another comes, whichever of the two kinds that is. At the end it is delivered at once, before the
    /// completion; a failure leaves it out. Values are asked for without limit; what is due before it is asked for waits, in order.
    ///
    /// - Parameters:
    ///   - interval: how long nothing may come after a value that waits.
    ///   - scheduler: what the timer is on, and delivers.
    ///   - options: with what its actions run; nil: as its others do.
    ///   - predicate: tells which values wait; called where they come, and not under a lock.
    public func throttle(
      for interval: CombineScheduler.SchedulerTimeType.Stride, scheduler: CombineScheduler,
      options: CombineScheduler.SchedulerOptions? = nil, valuesPassing predicate: @escaping (Output) -> Bool
    ) -> OperatorPublisher<Output, Failure> {
      OperatorPublisher { subscribe(Debounce($0, interval, predicate, on: scheduler, options)) }
    }
  }

  private final class Debounce<Input, Failure: Error>: SamplingStage<Input, Input, Failure>, @unchecked Sendable {
    // Unchecked, as its superclass is.
    private let dueTime: Instant.Stride
    // Under the lock.
    private var latest: (value: Input, due: Instant)?
    /// Which values wait, where not all do.
    private var predicate: ((Input) -> Bool)?

    init(
      _ downstream: any Subscriber<Input, Failure>, _ dueTime: Instant.Stride, _ predicate: ((Input) -> Bool)?,
      on place: CombineScheduler, _ options: CombineScheduler.SchedulerOptions?
    ) {
      self.dueTime = dueTime
      self.predicate = predicate
      super.init(downstream, on: place, options)
    }

    override func receive(_ input: Input) -> Subscribers.Demand {
      if let predicate = lock.withLock({ predicate }), !predicate(input) {
        replace(nil) { append(input) }
        hand()
        return .none
      }
      let due = place.now.advanced(by: dueTime)
      replace((input, due))
      wake(at: due)
      return .none
    }

    override func due(_ instant: Instant) {
      // In line under the same lock, because other events may come meanwhile.
      let (next, old) = lock.withLock { () -> (Instant?, (Input, Fifo<Input>?)?) in
        guard let latest else { return (nil, nil) }
        if latest.due > instant { return (latest.due, nil) }
        self.latest = nil
        if predicate == nil { return (nil, (latest.value, appendAlone(latest.value))) }
        append(latest.value)
        return (nil, (latest.value, nil))
      }
      if let next { return wake(at: next) }
      withExtendedLifetime(old) {}  // values end outside of the lock
      deliverHere()
    }

    override func completed(_ completion: Subscribers.Completion<Failure>) {
      replace(nil) {
        if case .finished = completion, predicate != nil, let latest { append(latest.value) }
        appendEnd(completion)
      }
      hand()
    }

    override func ended() {
      super.ended()
      let predicate = lock.withLock { self.predicate.take() }
      replace(nil)
      withExtendedLifetime(predicate) {}  // it ends outside of the lock
    }

    /// Has `new` wait, in the place of what waits, and changes, under the same lock, what is in line.
    private func replace(_ new: (value: Input, due: Instant)?, _ change: () -> Void = {}) {
      lock.lock()
      change()
      let old = latest
      latest = isLive ? new : nil
      lock.unlock()
      withExtendedLifetime(old) {}  // it ends outside of the lock
    }
  }
#endif
