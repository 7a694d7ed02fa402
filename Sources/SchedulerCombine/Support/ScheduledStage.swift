#if Combine
  #if canImport(Combine)
    internal import Combine
  #else
    internal import OpenCombine
  #endif
  internal import Scheduler

  /// A stage that delivers in actions of a scheduler, and has a timer there. Subclasses queue events with `push`, and
  /// arm the timer with `wake`.
  class ScheduledStage<Input, Output, Failure: Error>: Stage<Input, Output, Failure>, @unchecked Sendable {
    // Unchecked, as its superclass is.
    typealias Instant = CombineScheduler.SchedulerTimeType

    final let place: CombineScheduler  // the scheduler that delivers
    final let timer: Activation  // submits the action that calls `due`
    private final let delivery: Activation  // submits the action that calls `deliverOnThisThread`
    private final let batch = 64  // how many events one action delivers, before other work of the scheduler may run

    init(
      _ downstream: any Subscriber<Output, Failure>, on place: CombineScheduler,
      _ options: CombineScheduler.SchedulerOptions?
    ) {
      self.place = place
      timer = Activation(place, options)
      delivery = Activation(place, options)
      super.init(downstream)
    }

    /// Submits an action that delivers the queued events. Does nothing if such an action waits already, or if no event
    /// may be delivered now.
    final func scheduleDelivery() {
      if !delivery.isArmed, lock.withLock({ isDeliverable }) { delivery.arm { [self] _ in deliverOnThisThread() } }
    }

    /// Delivers queued events, at most a batch, and submits another action for the remaining events. Called in an
    /// action of the scheduler.
    final func deliverOnThisThread() { if deliver(atMost: batch) { scheduleDelivery() } }

    /// Arms the timer to call ``due(_:)`` at `instant`. Does nothing if the timer is armed already: `due` must then arm
    /// it again for `instant`.
    final func wake(at instant: Instant, tolerance: Instant.Stride = .zero) {
      timer.arm(at: instant, tolerance: tolerance) { [self] in due($0) }
    }

    /// Called in an action of the scheduler when the timer has reached `instant`. Subclasses with a timer override it.
    func due(_ instant: Instant) {}

    /// Delivers waiting events after a request: on the scheduler, not on the requesting thread.
    override func deliverRequested() { scheduleDelivery() }

    override func completed(_ completion: Subscribers.Completion<Failure>) {  // the upstream has ended
      pushEnd(completion)
      scheduleDelivery()
    }

    override func ended() {  // at the completion or a cancel, without the lock
      super.ended()  // cancels the upstream
      timer.dispose()  // cancels the waiting action, which retains this stage
      delivery.dispose()
    }
  }

  /// A stage that requests values without limit from upstream, and delivers only some of them.
  class SamplingStage<Input, Output, Failure: Error>: ScheduledStage<Input, Output, Failure>, @unchecked Sendable {
    // Unchecked, as its superclass is.
    final override func subscribed() {
      super.subscribed()
      upstream.request(.unlimited)
    }

    /// Called at the subscriber's request. Requests nothing: the upstream was asked for all values in `subscribed`.
    final override func wanted(_ demand: Subscribers.Demand) {}
  }
#endif
