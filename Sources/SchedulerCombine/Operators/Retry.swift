#if Combine
  #if canImport(Combine)
    public import Combine
  #else
    public import OpenCombine
  #endif
  public import Scheduler

  extension Publisher {
    /// Subscribes again after a failure, at most `attempts` times, each after a pause on `scheduler`. The subscriber
    /// gets the final failure.
    ///
    /// Demand that one attempt did not meet is requested from the next attempt. A cancellation also ends a pause.
    ///
    /// - Parameters:
    ///   - attempts: the largest number of further subscriptions; `.max` means no limit.
    ///   - backoff: how long to wait before each of them.
    ///   - scheduler: runs the pauses and subscribes again.
    ///   - options: options for the scheduler's actions; nil means the scheduler's defaults.
    public func retry(
      _ attempts: Int, backoff: Backoff, scheduler: CombineScheduler, options: CombineScheduler.SchedulerOptions? = nil
    ) -> OperatorPublisher<Output, Failure> {
      OperatorPublisher { downstream in
        let repeating = Repeating(attempts, backoff, downstream, on: scheduler, options) { subscribe($0) }
        repeating.sendSubscription()  // before any value
        repeating.subscribeToSource()
      }
    }

    /// Subscribes again after each completion, at most `times` times, each in an action of `scheduler`. Then completes.
    ///
    /// A failure is sent to the subscriber. The scheduler can run other work between two subscriptions. The stack does
    /// not grow, even if each subscription completes at once. Demand that one subscription did not meet is requested
    /// from the next. A cancellation ends the repetition.
    ///
    /// - Parameters:
    ///   - times: the largest number of further subscriptions; by default there is no limit.
    ///   - scheduler: subscribes again.
    ///   - options: options for the scheduler's actions; nil means the scheduler's defaults.
    public func `repeat`(
      _ times: Int = .max, scheduler: CombineScheduler, options: CombineScheduler.SchedulerOptions? = nil
    ) -> OperatorPublisher<Output, Failure> {
      OperatorPublisher { downstream in
        let repeating = Repeating(times, nil, downstream, on: scheduler, options) { subscribe($0) }  // nil: no backoff
        repeating.sendSubscription()  // before any value
        repeating.subscribeToSource()
      }
    }
  }

  /// Subscribes to the source repeatedly. With a backoff (`retry`): after a failure and a pause. Without one
  /// (`repeat`): after a completion.
  private final class Repeating<Output, Failure: Error>: Stage<Output, Failure>, @unchecked Sendable {
    // Unchecked, as its superclass is; one attempt at a time subscribes to the source.
    typealias Source = (UpstreamSubscriber<Output, Failure>) -> Void

    private let attempts: Int  // the largest number of repetitions
    private let backoff: Backoff?  // nil: repeats after a completion
    private let timer: StepRunner  // calls `subscribeToSource` on the scheduler, after a pause
    // Under the lock:
    private var source: Source?  // subscribes to the source; nil after the end
    private var count = 0  // repetitions so far
    private var upstream = Upstream()  // the connection to the source of the present attempt
    private var outstanding: Subscribers.Demand = .none  // requested values that have not arrived

    init(
      _ attempts: Int, _ backoff: Backoff?, _ downstream: any Subscriber<Output, Failure>,
      on scheduler: CombineScheduler, _ options: CombineScheduler.SchedulerOptions?, _ source: @escaping Source
    ) {
      (self.source, self.attempts, self.backoff) = (source, attempts, backoff)
      timer = StepRunner(scheduler, options)
      super.init(downstream)
    }

    /// Starts an attempt: subscribes to the source, and requests the demand that is not met.
    func subscribeToSource() {
      let next = Upstream()
      lock.lock()
      let source = isLive ? source : nil  // a copy, to call without the lock; nil: the downstream has cancelled
      upstream = next
      outstanding = .none  // nothing has been requested from the new attempt
      lock.unlock()
      guard let source else { return }
      requestMissing()  // `next` stores the request until its subscription arrives
      source(UpstreamSubscriber(next, onValue: receiveValue, onCompletion: receiveCompletion))
    }

    private func receiveValue(_ value: Output) {
      lock.withLock { outstanding -= 1 }
      send(value)
    }

    /// At the end of an attempt: submits the action that subscribes again, or sends the downstream the completion.
    private func receiveCompletion(_ completion: Subscribers.Completion<Failure>) {
      let hasFailed = if case .failure = completion { true } else { false }
      let number = lock.withLock { () -> Int? in
        // nil: no repetition. A backoff repeats after failures only, and its absence after completions only.
        guard hasFailed == (backoff != nil), count < attempts else { return nil }
        count += 1
        return count
      }
      guard let number else { return send(completion: completion) }  // number: of this repetition, from 1 on
      // nil: no pause, the scheduler subscribes as soon as it can
      let pause = backoff.map { CombineScheduler.SchedulerTimeType.Stride($0.delay(beforeAttempt: number)) }
      timer.arm(at: pause.map { timer.now.advanced(by: $0) }) { [self] _ in subscribeToSource() }
    }

    override func requested(_ values: Subscribers.Demand) {  // by the downstream
      requestMissing()
      deliver()  // values that waited for demand
    }

    /// Requests from the present attempt the part of the demand that it has not been asked for.
    private func requestMissing() {
      let (upstream, missing) = lock.withLock {
        let missing = unmetDemand(beyond: outstanding)
        outstanding += missing
        return (self.upstream, missing)
      }
      upstream.request(missing)
    }

    override func ended() {  // at the completion or a cancel, without the lock
      timer.dispose()
      lock.lock()
      let (source, upstream) = (self.source.take(), self.upstream)
      lock.unlock()
      upstream.cancel()
      withExtendedLifetime(source) {}  // released outside the lock
    }
  }
#endif
