#if Combine
  #if canImport(Combine)
    internal import Combine
  #else
    internal import OpenCombine
  #endif
  internal import Scheduler

  extension CombineScheduler {
    /// Returns a publisher of 0, 1, 2 and so on: one number per `period` on this scheduler, the first after one period,
    /// without drift.
    ///
    /// Each subscription has its own ticks, which end when the subscription is cancelled. A tick without demand is
    /// dropped, but counted: the next number shows how many ticks there were.
    ///
    /// - Parameters:
    ///   - period: the time between two ticks; with zero, each tick runs as soon as the scheduler can.
    ///   - tolerance: how much later a tick may be, so that one wakeup serves more timers.
    ///   - options: options for the scheduler's actions; nil means the scheduler's defaults.
    public func interval(
      every period: SchedulerTimeType.Stride, tolerance: SchedulerTimeType.Stride = .zero,
      options: SchedulerOptions? = nil
    ) -> OperatorPublisher<Int, Never> {
      let timing = ActionTiming.every(period.duration, tolerance: tolerance.duration)
      return OperatorPublisher { downstream in
        let ticks = Ticks(downstream)
        ticks.sendSubscription()  // the downstream may request and cancel in this call
        ticks.startTicking { target(options).schedule(timing) { ticks.tick() } }
      }
    }
  }

  /// The ticks of one subscription. A periodic action calls `tick`.
  private final class Ticks: Stage<Int, Never>, @unchecked Sendable {
    // Unchecked, as its superclass is.
    private let token = SerialDisposable()  // holds the disposable of the periodic action
    private var count = 0  // ticks so far; under the lock

    /// Starts the periodic action by `schedule`, unless the downstream has cancelled already. `ended` disposes it.
    func startTicking(_ schedule: () -> any Disposable) { if !token.isDisposed { token.replace(schedule) } }

    /// Sends the next number if there is demand. Counts the tick in either case.
    func tick() {
      let number = lock.withLock { () -> Int? in
        defer { count += 1 }
        return demand > queuedCount ? count : nil  // nil: this tick is dropped
      }
      if let number { send(number) }
    }

    override func ended() { token.dispose() }  // at a cancel: ends the periodic action

    /// Called when the downstream requests numbers. Does nothing: no tick waits for demand, and only the scheduler's
    /// thread may deliver a tick.
    override func requested(_ numbers: Subscribers.Demand) {}
  }
#endif
