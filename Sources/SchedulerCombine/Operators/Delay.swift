#if Combine
  #if canImport(Combine)
    public import Combine
  #else
    public import OpenCombine
  #endif
  internal import Scheduler

  extension Publisher {
    /// Delivers each event, including the completion, `interval` after it arrived, on `scheduler`.
    ///
    /// A cancellation releases the waiting events, the subscriber and the timer.
    ///
    /// - Parameters:
    ///   - interval: the delay; with zero or less, events are delivered as soon as the scheduler can.
    ///   - tolerance: how much later delivery may be, so that one wakeup serves more timers.
    ///   - scheduler: runs the timer and delivers the events.
    ///   - options: options for the scheduler's actions; nil means the scheduler's defaults.
    public func delay(
      for interval: CombineScheduler.SchedulerTimeType.Stride,
      tolerance: CombineScheduler.SchedulerTimeType.Stride? = nil, scheduler: CombineScheduler,
      options: CombineScheduler.SchedulerOptions? = nil
    ) -> OperatorPublisher<Output, Failure> {
      OperatorPublisher { subscribe(Delay($0, interval, tolerance ?? .zero, on: scheduler, options)) }
    }
  }

  /// Queues each event until it is due. One timer runs, for the first event in the queue.
  private final class Delay<Input, Failure: Error>: SingleUpstreamStage<Input, Input, Failure>, @unchecked Sendable {
    // Unchecked, as its superclass is.
    private enum Event {
      case value(Input)
      case completion(Subscribers.Completion<Failure>)
    }

    private let interval: Instant.Stride
    private let tolerance: Instant.Stride
    private let timer: StepRunner  // calls `queueDueEvents` on the scheduler
    private var delayed = Fifo<(due: Instant, event: Event)>()  // the events that are not due yet; under the lock

    init(
      _ downstream: any Subscriber<Input, Failure>, _ interval: Instant.Stride, _ tolerance: Instant.Stride,
      on scheduler: CombineScheduler, _ options: CombineScheduler.SchedulerOptions?
    ) {
      self.interval = interval
      self.tolerance = tolerance
      timer = StepRunner(scheduler, options)
      super.init(downstream, deliveringOn: scheduler, options)
    }

    // From upstream:
    override func receiveValue(_ value: Input) { delay(.value(value)) }
    override func receiveCompletion(_ completion: Subscribers.Completion<Failure>) { delay(.completion(completion)) }

    /// Stores `event` until `interval` from now, and arms the timer.
    private func delay(_ event: Event) {
      let due = timer.now.advanced(by: interval)
      lock.lock()
      if isLive { delayed.append((due, event)) }  // after the end, nothing may be kept
      lock.unlock()
      armTimer()
    }

    /// Arms the timer for the first delayed event, if there is one and the timer is not armed.
    private func armTimer() {
      guard let first = lock.withLock({ delayed.first?.due }) else { return }
      timer.arm(at: first, tolerance: tolerance) { [self] now in queueDueEvents(now) }
    }

    /// Called by the timer at `now`: delivers the events that are due.
    private func queueDueEvents(_ now: Instant) {
      // First moves each due event to the queue, without calling the downstream: then one batch delivers them.
      while let event = lock.withLock({
        delayed.first.map { $0.due <= now } == true ? delayed.popFirst()?.event : nil
      }) {
        switch event {
        case .value(let value): lock.withLock { _ = enqueue(value) }
        case .completion(let completion): lock.withLock { enqueue(completion: completion) }
        }
      }
      deliverNow()
      armTimer()  // the events that are not due yet need the timer again
    }

    override func ended() {  // at the completion or a cancel, without the lock
      super.ended()  // cancels the upstream
      timer.dispose()
      lock.lock()
      let delayed = delayed
      self.delayed = Fifo()
      lock.unlock()
      withExtendedLifetime(delayed) {}  // values are released outside the lock
    }
  }
#endif
