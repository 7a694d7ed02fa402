#if Combine
  #if canImport(Combine)
    internal import Combine
  #else
    internal import OpenCombine
  #endif
  internal import Scheduler

  extension Sequence {
    /// A publisher of the elements that takes one at a time, each in an action of `scheduler`: so other work of it runs in between, and a
    /// cancellation stops it between two values, also where there are infinitely many.
    ///
    /// Each subscription iterates anew, as far as the subscriber asks. The element after the one that was delivered is looked up at once, so that
    /// the end comes with the last.
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
    /// What one step at a time has; between steps it is here, under the lock, until the end.
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

    /// After the subscriber has its subscription.
    func open() {
      lock.withLock { isOpen = true }
      begin()
    }

    private func begin() { activation.arm { [self] _ in step() } }

    override func wanted(_ demand: Subscribers.Demand) { if lock.withLock({ isOpen }) { begin() } }

    /// Nothing waits for demand; and were a value delivered by who asks for more, the next would be taken before that is over.
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
      withExtendedLifetime(old) {}  // it ends outside of the lock
    }
  }
#endif
