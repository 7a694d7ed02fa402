#if Combine
  #if canImport(Combine)
    internal import Combine
  #else
    internal import OpenCombine
  #endif
  internal import Scheduler

  extension Sequence {
    /// Returns a publisher that delivers the elements one at a time, each in an action of `scheduler`.
    ///
    /// The scheduler can run other work in between. A cancellation stops the publisher between two values, even in an infinite sequence.
    /// Each subscription iterates from the start, as far as the subscriber requests. The next element is fetched right after each delivery, so
    /// that the completion follows the last value at once.
    public func publisher(on scheduler: CombineScheduler, options: CombineScheduler.SchedulerOptions? = nil)
      -> OperatorPublisher<Element, Never>
    {
      OperatorPublisher { downstream in
        var iterator = makeIterator()
        let iteration = Iteration(downstream, on: scheduler, options) { iterator.next() }
        iteration.start()
        iteration.open()
      }
    }
  }

  private final class Iteration<Element>: Outlet<Element, Never>, @unchecked Sendable {
    // Unchecked, as its superclass is.
    /// The iteration's state. The running step holds it; between steps it is in `progress`, under the lock, until the end.
    private struct Progress {
      let next: () -> Element?
      var ahead: Element?
      var hasBegun = false
    }

    private let activation: Activation
    private var progress: Progress?
    private var isOpen = false

    init(
      _ downstream: any Subscriber<Element, Never>, on place: CombineScheduler,
      _ options: CombineScheduler.SchedulerOptions?, _ next: @escaping () -> Element?
    ) {
      progress = Progress(next: next)
      activation = Activation(place, options)
      super.init(downstream)
    }

    /// Starts the first step. Called after the subscriber has received its subscription.
    func open() {
      lock.withLock { isOpen = true }
      begin()
    }

    private func begin() { activation.arm { [self] _ in step() } }

    override func wanted(_ demand: Subscribers.Demand) { if lock.withLock({ isOpen }) { begin() } }

    /// Does nothing: no value waits for demand. If the requesting thread delivered one, the step could fetch the next before that delivery ends.
    override func demanded() {}

    private func step() {
      guard var progress = lock.withLock({ progress.take() }) else { return }
      if !progress.hasBegun {
        progress.hasBegun = true
        look(&progress)
      }
      if lock.withLock({ isLive && demand > .none }), let value = progress.ahead.take() {
        send(value)
        look(&progress)
      }
      let isWanted = lock.withLock {
        if isLive { self.progress = progress }
        return isLive && demand > .none && progress.ahead != nil
      }
      if isWanted { begin() }
    }

    private func look(_ progress: inout Progress) {
      guard lock.withLock({ isLive }) else { return }
      progress.ahead = progress.next()
      if progress.ahead == nil { finish(.finished) }
    }

    override func ended() {
      activation.dispose()
      let old = lock.withLock { progress.take() }
      withExtendedLifetime(old) {}  // released outside the lock
    }
  }
#endif
