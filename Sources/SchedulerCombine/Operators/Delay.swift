#if Combine
  #if canImport(Combine)
    public import Combine
  #else
    public import OpenCombine
  #endif
  internal import Scheduler

  extension Publisher {
    /// Delivers each event, the completion too, `interval` after it came, on `scheduler`.
    ///
    /// Nothing is kept after the cancellation: neither what waits, nor the subscriber, nor a timer.
    ///
    /// - Parameters:
    ///   - interval: how much later; zero or less: as soon as the scheduler comes to it.
    ///   - tolerance: how much later still it may be, so that fewer wakeups serve more timers.
    ///   - scheduler: what the timer is on, and delivers.
    ///   - options: with what its actions run; nil: as its others do.
    public func delay(
      for interval: CombineScheduler.SchedulerTimeType.Stride,
      tolerance: CombineScheduler.SchedulerTimeType.Stride? = nil, scheduler: CombineScheduler,
      options: CombineScheduler.SchedulerOptions? = nil
    ) -> OperatorPublisher<Output, Failure> {
      OperatorPublisher { subscribe(Delay($0, interval, tolerance ?? .zero, on: scheduler, options)) }
    }
  }

  /// Keeps each event until its time has come; one timer waits, for the first of them.
  private final class Delay<Input, Failure: Error>: ScheduledStage<Input, Input, Failure>, @unchecked Sendable {
    // Unchecked, as its superclass is.
    private enum Event {
      case value(Input)
      case end(Subscribers.Completion<Failure>)
    }

    private let interval: Instant.Stride
    private let tolerance: Instant.Stride
    // Under the lock.
    private var held = Fifo<(due: Instant, event: Event)>()

    init(
      _ downstream: any Subscriber<Input, Failure>, _ interval: Instant.Stride, _ tolerance: Instant.Stride,
      on place: CombineScheduler, _ options: CombineScheduler.SchedulerOptions?
    ) {
      self.interval = interval
      self.tolerance = tolerance
      super.init(downstream, on: place, options)
    }

    override func receive(_ input: Input) -> Subscribers.Demand {
      hold(.value(input))
      return .none
    }

    override func completed(_ completion: Subscribers.Completion<Failure>) { hold(.end(completion)) }

    private func hold(_ event: Event) {
      let due = place.now.advanced(by: interval)
      lock.lock()
      if isLive { held.append((due, event)) }
      lock.unlock()
      wakeForFirst()
    }

    private func wakeForFirst() {
      if let first = lock.withLock({ held.first?.due }) { wake(at: first, tolerance: tolerance) }
    }

    override func due(_ instant: Instant) {
      while let event = lock.withLock({ held.first.map { $0.due <= instant } == true ? held.popFirst()?.event : nil }) {
        switch event {
        case .value(let value): push(value)
        case .end(let completion): pushEnd(completion)
        }
      }
      deliverHere()
      wakeForFirst()
    }

    override func ended() {
      super.ended()
      lock.lock()
      let held = held
      self.held = Fifo()
      lock.unlock()
      withExtendedLifetime(held) {}  // values end outside of the lock
    }
  }
#endif
