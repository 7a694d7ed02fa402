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
    /// The scheduler can run other work in between. A cancellation stops the publisher between two values, even in an
    /// infinite sequence.
    /// Each subscription iterates from the start, as far as the subscriber requests. The next element is fetched right
    /// after each delivery, so that the completion follows the final value at once.
    public func publisher(on scheduler: CombineScheduler, options: CombineScheduler.SchedulerOptions? = nil)
      -> OperatorPublisher<Element, Never>
    {
      OperatorPublisher { downstream in
        var iterator = makeIterator()
        let iteration = Iteration(downstream, on: scheduler, options) { iterator.next() }
        iteration.sendSubscription()  // a request in this call submits no step, because `open` comes later
        iteration.open()
      }
    }
  }

  /// One iteration of the sequence, for one downstream. Each element is delivered by a step in an action of the
  /// scheduler.
  private final class Iteration<Element>: Stage<Element, Never>, @unchecked Sendable {
    // Unchecked, as its superclass is.
    /// The iterator and the fetched element. A running step takes this struct out of `progress`, so that only one step
    /// uses the iterator.
    private struct Progress {
      let next: () -> Element?
      var fetched: Element?
      var hasBegun = false
    }

    private let steps: StepRunner  // calls `step` on the scheduler
    private var progress: Progress?  // under the lock; nil during a step and after the end
    private var isOpen = false  // under the lock; whether requests may start a step

    init(
      _ downstream: any Subscriber<Element, Never>, on scheduler: CombineScheduler,
      _ options: CombineScheduler.SchedulerOptions?, _ next: @escaping () -> Element?
    ) {
      progress = Progress(next: next)
      steps = StepRunner(scheduler, options)
      super.init(downstream)
    }

    /// Submits the first step, and lets later requests submit steps. Called after `sendSubscription`.
    func open() {
      lock.withLock { isOpen = true }
      submitStep()  // also without demand: an empty sequence completes
    }

    /// Submits a step, unless one waits already.
    private func submitStep() { steps.arm { [self] _ in step() } }

    /// Called when the downstream requests elements. Does not deliver: a delivery by the requesting thread could
    /// overlap with the next fetch.
    override func requested(_ elements: Subscribers.Demand) { if lock.withLock({ isOpen }) { submitStep() } }

    /// Delivers one element, fetches the next, and submits another step if there is demand.
    private func step() {
      guard var progress = lock.withLock({ progress.take() }) else { return }  // nil: the iteration has ended
      if !progress.hasBegun {  // the first step: no element is fetched yet
        progress.hasBegun = true
        fetchNext(&progress)
      }
      if lock.withLock({ isLive && demand > .none }), let value = progress.fetched.take() {
        send(value)
        fetchNext(&progress)
      }
      let isWanted = lock.withLock {
        if isLive { self.progress = progress }  // for the next step; after the end nothing may keep the iterator
        return isLive && demand > .none && progress.fetched != nil
      }
      if isWanted { submitStep() }  // a new action, so that the scheduler can run other work in between
    }

    /// Fetches the next element, without the lock, because the iterator is user code. At the end of the sequence sends
    /// the completion.
    private func fetchNext(_ progress: inout Progress) {
      guard lock.withLock({ isLive }) else { return }  // the downstream has cancelled
      progress.fetched = progress.next()
      if progress.fetched == nil { send(completion: .finished) }
    }

    override func ended() {  // at the completion or a cancel, without the lock
      steps.dispose()
      let old = lock.withLock { progress.take() }
      withExtendedLifetime(old) {}  // released outside the lock
    }
  }
#endif
