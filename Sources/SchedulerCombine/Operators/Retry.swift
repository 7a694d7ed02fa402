#if Combine
  #if canImport(Combine)
    public import Combine
  #else
    public import OpenCombine
  #endif
  internal import Scheduler

  /// How long to wait before each further attempt.
  public struct Backoff: Sendable {
    private let delay: @Sendable (_ attempt: Int) -> Duration

    /// Makes one by a closure, which is given 1 before the first repetition, then 2, and so on. It may be called on any thread.
    public init(_ delay: @escaping @Sendable (_ attempt: Int) -> Duration) { self.delay = delay }

    /// The same time before each.
    public static func constant(_ delay: Duration) -> Backoff { Backoff { _ in delay } }

    /// `first` before the first repetition, and `factor` times as long before each further one.
    ///
    /// - Parameters:
    ///   - first: the first time.
    ///   - factor: 1 or more; less, and what is not a number, counts as 1.
    ///   - limit: the longest time.
    ///   - jitter: the share of each time, from 0 to 1, that is left to chance, so that many who have failed together do not come back together:
    ///     with 0.5 each time is between half of it and all.
    public static func exponential(
      first: Duration, factor: Double = 2, limit: Duration = .seconds(60), jitter: Double = 0
    ) -> Backoff {
      let longest = limit / .seconds(1), start = first / .seconds(1), factor = factor > 1 ? factor : 1
      let share = jitter > 0 ? min(jitter, 1) : 0
      return Backoff { attempt in
        var seconds = min(start, longest), further = factor > 1 ? attempt - 1 : 0
        while further > 0, seconds < longest { (seconds, further) = (min(seconds * factor, longest), further - 1) }
        return .seconds(seconds * (1 - share * Double.random(in: 0...1)))
      }
    }

    /// The time before a repetition.
    public func delay(beforeAttempt attempt: Int) -> Duration { delay(attempt) }
  }

  extension Publisher {
    /// Subscribes again after a failure, `attempts` times at the most, each time after a pause on `scheduler`; then passes the failure on.
    ///
    /// What was asked for and has not come is asked of the next attempt. A cancellation ends a pause, too.
    ///
    /// - Parameters:
    ///   - attempts: how many further subscriptions there may be; `.max`: without end.
    ///   - backoff: how long to wait before each.
    ///   - scheduler: what the pauses are on, and subscribes again.
    ///   - options: with what its actions run; nil: as its others do.
    public func retry(
      _ attempts: Int, backoff: Backoff, scheduler: CombineScheduler, options: CombineScheduler.SchedulerOptions? = nil
    ) -> OperatorPublisher<Output, Failure> {
      OperatorPublisher { downstream in
        let repeating = Repeating(attempts, backoff, downstream, on: scheduler, options) { subscribe($0) }
        repeating.start()
        repeating.attempt()
      }
    }

    /// Subscribes again after each completion, `times` times at the most, each time in an action of `scheduler`; then completes. A failure is
    /// passed on.
    ///
    /// Other work of the scheduler runs between two subscriptions, and the stack stays as it is, also where each ends at once. What was asked for
    /// and has not come is asked of the next. A cancellation ends all of it.
    ///
    /// - Parameters:
    ///   - times: how many further subscriptions there may be; without end, if left out.
    ///   - scheduler: what subscribes again.
    ///   - options: with what its actions run; nil: as its others do.
    public func `repeat`(
      _ times: Int = .max, scheduler: CombineScheduler, options: CombineScheduler.SchedulerOptions? = nil
    ) -> OperatorPublisher<Output, Failure> {
      OperatorPublisher { downstream in
        let repeating = Repeating(times, nil, downstream, on: scheduler, options) { subscribe($0) }
        repeating.start()
        repeating.attempt()
      }
    }
  }

  /// Subscribes again after a failure, with a pause; or, without a backoff, after a completion.
  private final class Repeating<Output, Failure: Error>: Outlet<Output, Failure>, @unchecked Sendable {
    // Unchecked, as its superclass is; the source is subscribed to by one at a time.
    typealias Source = (Inlet<Output, Failure>) -> Void

    private let attempts: Int
    private let backoff: Backoff?
    private let place: CombineScheduler
    private let activation: Activation
    // Under the lock.
    private var source: Source?
    private var count = 0
    private var upstream = Upstream()
    private var outstanding: Subscribers.Demand = .none

    init(
      _ attempts: Int, _ backoff: Backoff?, _ downstream: any Subscriber<Output, Failure>, on place: CombineScheduler,
      _ options: CombineScheduler.SchedulerOptions?, _ source: @escaping Source
    ) {
      (self.source, self.attempts, self.backoff, self.place) = (source, attempts, backoff, place)
      activation = Activation(place, options)
      super.init(downstream)
    }

    func attempt() {
      let next = Upstream()
      lock.lock()
      let source = isLive ? source : nil
      upstream = next
      outstanding = .none
      lock.unlock()
      guard let source else { return }
      ask()
      source(Inlet(next, onValue: take, onEnd: end))
    }

    private func take(_ value: Output) {
      lock.withLock { outstanding -= 1 }
      send(value)
    }

    private func end(_ completion: Subscribers.Completion<Failure>) {
      let hasFailed = if case .failure = completion { true } else { false }
      let number = lock.withLock { () -> Int? in
        guard hasFailed == (backoff != nil), count < attempts else { return nil }
        count += 1
        return count
      }
      guard let number else { return finish(completion) }
      let pause = backoff.map { CombineScheduler.SchedulerTimeType.Stride($0.delay(beforeAttempt: number)) }
      activation.arm(at: pause.map { place.now.advanced(by: $0) }) { [self] _ in attempt() }
    }

    override func wanted(_ demand: Subscribers.Demand) { ask() }

    private func ask() {
      let (upstream, lacking) = lock.withLock {
        let lacking = self.lacking(beyond: outstanding)
        outstanding += lacking
        return (self.upstream, lacking)
      }
      upstream.request(lacking)
    }

    override func ended() {
      activation.dispose()
      lock.lock()
      let (source, upstream) = (self.source.take(), self.upstream)
      lock.unlock()
      upstream.cancel()
      withExtendedLifetime(source) {}  // it ends outside of the lock
    }
  }
#endif
