#if Combine
  #if canImport(Combine)
    internal import Combine
  #else
    internal import OpenCombine
  #endif
  internal import Scheduler

  /// A stage that delivers on a scheduler, and has a timer there.
  class ScheduledStage<Input, Output, Failure: Error>: Stage<Input, Output, Failure>, @unchecked Sendable {
    // Unchecked, as its superclass is.
    typealias Instant = CombineScheduler.SchedulerTimeType

    final let place: CombineScheduler
    final let timer: Activation
    private final let handing: Activation
    /// How many events are delivered before other work of the scheduler has its turn.
    private final let batch = 64

    init(
      _ downstream: any Subscriber<Output, Failure>, on place: CombineScheduler,
      _ options: CombineScheduler.SchedulerOptions?
    ) {
      self.place = place
      timer = Activation(place, options)
      handing = Activation(place, options)
      super.init(downstream)
    }

    /// Has an action of the scheduler deliver what is in line.
    final func hand() {
      if !handing.isArmed, lock.withLock({ isDeliverable }) { handing.arm { [self] _ in deliverHere() } }
    }

    /// Delivers what is in line; the rest of much by another action. In an action of the scheduler.
    final func deliverHere() { if deliver(atMost: batch) { hand() } }

    /// Has ``due(_:)`` called at `instant`, unless it is to be called already: then that call is to look for what comes after it.
    final func wake(at instant: Instant, tolerance: Instant.Stride = .zero) {
      timer.arm(at: instant, tolerance: tolerance) { [self] in due($0) }
    }

    /// Called in an action of the scheduler when the timer has come to `instant`.
    func due(_ instant: Instant) {}

    override func demanded() { hand() }

    override func completed(_ completion: Subscribers.Completion<Failure>) {
      pushEnd(completion)
      hand()
    }

    override func ended() {
      super.ended()
      timer.dispose()
      handing.dispose()
    }
  }

  /// One that takes all that comes, and chooses what to deliver of it.
  class SamplingStage<Input, Output, Failure: Error>: ScheduledStage<Input, Output, Failure>, @unchecked Sendable {
    // Unchecked, as its superclass is.
    final override func subscribed() {
      super.subscribed()
      upstream.request(.unlimited)
    }

    final override func wanted(_ demand: Subscribers.Demand) {}
  }
#endif
