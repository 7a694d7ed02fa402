#if Combine
  #if canImport(Combine)
    internal import Combine
  #else
    internal import OpenCombine
  #endif
  internal import Scheduler

  extension CombineScheduler {
    /// A publisher of 0, 1, 2 and so on: one number a `period` on this scheduler, the first after a period, without drift.
    ///
    /// Each subscription has ticks of its own, which end with its cancellation. A tick that nobody has asked for is left out; the next number
    /// tells how many there were.
    ///
    /// - Parameters:
    ///   - period: the time from tick to tick; zero: as soon as the scheduler comes to it.
    ///   - tolerance: how much later a tick may be, so that fewer wakeups serve more timers.
    ///   - options: with what its actions run; nil: as its others do.
    public func interval(
      every period: SchedulerTimeType.Stride, tolerance: SchedulerTimeType.Stride = .zero,
      options: SchedulerOptions? = nil
    ) -> OperatorPublisher<Int, Never> {
      let timing = ActionTiming.every(period.duration, tolerance: tolerance.duration)
      return OperatorPublisher { downstream in
        let ticks = Ticks(downstream)
        ticks.start()
        ticks.begin { target(options).schedule(timing) { ticks.tick() } }
      }
    }
  }

  private final class Ticks: Outlet<Int, Never>, @unchecked Sendable {
    // Unchecked, as its superclass is.
    private let token = SerialDisposable()
    // Under the lock.
    private var count = 0

    func begin(_ schedule: () -> any Disposable) { if !token.isDisposed { token.replace(schedule) } }

    func tick() {
      let number = lock.withLock { () -> Int? in
        defer { count += 1 }
        return demand > waiting ? count : nil
      }
      if let number { send(number) }
    }

    override func ended() { token.dispose() }

    /// Nothing waits for demand, and who asks for more is not to deliver a tick in place of the scheduler.
    override func demanded() {}
  }
#endif
