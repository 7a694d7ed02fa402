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
  private final class Delay<Input, Failure: Error>: ScheduledStage<Input, Input, Failure>, @unchecked Sendable {
    // Unchecked, as its superclass is.
    private enum Event {
      case value(Input)
      case end(Subscribers.Completion<Failure>)
    }

    private let interval: Instant.Stride
    private let tolerance: Instant.Stride
    private var delayed = Fifo<(due: Instant, event: Event)>()  // the events that are not due yet; under the lock

    init(
      _ downstream: any Subscriber<Input, Failure>, _ interval: Instant.Stride, _ tolerance: Instant.Stride,
      on place: CombineScheduler, _ options: CombineScheduler.SchedulerOptions?
    ) {
      self.interval = interval
      self.tolerance = tolerance
      super.init(downstream, on: place, options)
    }

    override func receive(_ input: Input) -> Subscribers.Demand {  // a value from upstream
      enqueue(.value(input))
      return .none  // `wanted` of the superclass sends the subscriber's requests upstream
    }

    override func completed(_ completion: Subscribers.Completion<Failure>) { enqueue(.end(completion)) }

    /// Stores `event` until `interval` from now, and arms the timer.
    private func enqueue(_ event: Event) {
      let due = place.now.advanced(by: interval)  // by the clock of the scheduler, `place`
      lock.lock()
      if isLive { delayed.append((due, event)) }  // after the end, nothing may be kept
      lock.unlock()
      wakeForFirst()
    }

    /// Arms the timer for the first delayed event, if there is one and the timer is not armed.
    private func wakeForFirst() {
      if let first = lock.withLock({ delayed.first?.due }) { wake(at: first, tolerance: tolerance) }
    }

    override func due(_ instant: Instant) {  // the timer has reached `instant`: delivers the events that are due
      // First moves each due event to the subscriber's queue, without calling the subscriber: then one batch delivers
      // them.
      while let event = lock.withLock({
        delayed.first.map { $0.due <= instant } == true ? delayed.popFirst()?.event : nil
      }) {
        switch event {
        case .value(let value): push(value)
        case .end(let completion): pushEnd(completion)
        }
      }
      deliverOnThisThread()
      wakeForFirst()  // the events that are not due yet need the timer again
    }

    override func ended() {  // at the completion or a cancel, without the lock
      super.ended()
      lock.lock()
      let delayed = delayed
      self.delayed = Fifo()
      lock.unlock()
      withExtendedLifetime(delayed) {}  // values are released outside the lock
    }
  }
#endif
