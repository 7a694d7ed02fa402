#if Combine
  #if canImport(Combine)
    public import Combine
  #else
    public import OpenCombine
    internal import Scheduler

    extension Publishers {
      /// How `collect(_:options:)` groups values.
      public enum TimeGroupingStrategy<Context: OpenCombine.Scheduler> {
        /// All that come within the time, counted from the first of them.
        case byTime(Context, Context.SchedulerTimeType.Stride)
        /// The same, but no more than the count, which is 1 at least.
        case byTimeOrCount(Context, Context.SchedulerTimeType.Stride, Int)
      }
    }
  #endif

  extension Publisher {
    /// Delivers values in groups, each at the latest when the time of `strategy` has passed since its first value.
    ///
    /// 1. The timer runs only while a value waits: an idle pipeline wakes nobody.
    /// 2. A group that is full is delivered at once, where its last value came; one whose time has come on the scheduler.
    /// 3. A group that is not asked for waits. By time, values are asked for without limit; by time or count no more than the groups take
    ///    that are asked for.
    /// 4. At the end what has come is a last group. A failure comes at once, without it.
    public func collect(
      _ strategy: Publishers.TimeGroupingStrategy<CombineScheduler>, options: CombineScheduler.SchedulerOptions? = nil
    ) -> OperatorPublisher<[Output], Failure> {
      OperatorPublisher { downstream in
        switch strategy {
        case .byTime(let place, let time):
          subscribe(CollectByTime(downstream, time, nil, on: place, options))
        case .byTimeOrCount(let place, let time, let count):
          subscribe(CollectByTime(downstream, time, Swift.max(1, count), on: place, options))
        }
      }
    }
  }

  private final class CollectByTime<Input, Failure: Error>: ScheduledStage<Input, [Input], Failure>, @unchecked Sendable
  {
    // Unchecked, as its superclass is.
    private let time: Instant.Stride
    private let most: Int?
    // Under the lock: the group that is being filled, when it is due, and how many values are still to come of those asked for.
    private var group: [Input] = []
    private var end: Instant?
    private var outstanding: Subscribers.Demand = .none

    init(
      _ downstream: any Subscriber<[Input], Failure>, _ time: Instant.Stride, _ most: Int?, on place: CombineScheduler,
      _ options: CombineScheduler.SchedulerOptions?
    ) {
      self.time = time
      self.most = most
      super.init(downstream, on: place, options)
    }

    override func wanted(_ demand: Subscribers.Demand) { ask() }

    /// Asks for as many values as the groups take that are asked for, beyond what is asked for already.
    private func ask() {
      let lacking = lock.withLock { () -> Subscribers.Demand in
        guard isLive, outstanding != .unlimited else { return .none }
        var lacking = Subscribers.Demand.unlimited
        if let most, let groups = demand.max {
          let (all, isBeyond) = Swift.max(0, groups - waiting).multipliedReportingOverflow(by: most)
          if !isBeyond { lacking = .max(Swift.max(0, all - group.count - (outstanding.max ?? 0))) }
        } else if demand == .none {
          return .none
        }
        outstanding += lacking
        return lacking
      }
      upstream.request(lacking)
    }

    override func receive(_ input: Input) -> Subscribers.Demand {
      let now = place.now
      // A group is in line under the lock that it was filled under, because time, values and the end come from several threads.
      let (isFull, first) = lock.withLock { () -> (Bool, Instant?) in
        guard isLive else { return (false, nil) }
        group.append(input)
        outstanding -= 1
        if group.count == most {
          append(takeGroup())
          return (true, nil)
        }
        guard group.count == 1 else { return (false, nil) }
        end = now.advanced(by: time)
        return (false, end)
      }
      if let first { wake(at: first) }
      if isFull {
        if timer.isArmed { timer.disarm() }
        deliver()
        ask()
      }
      return .none
    }

    /// Under the lock.
    private func takeGroup() -> [Input] {
      end = nil
      defer { group = [] }
      return group
    }

    override func due(_ instant: Instant) {
      let (next, ready) = lock.withLock { () -> (Instant?, [Input]?) in
        guard let end else { return (nil, nil) }
        if end > instant { return (end, nil) }
        let ready = takeGroup()
        append(ready)
        return (nil, ready)
      }
      if let next { return wake(at: next) }
      withExtendedLifetime(ready) {}  // values end outside of the lock
      deliverHere()
      ask()
    }

    override func completed(_ completion: Subscribers.Completion<Failure>) {
      let last = lock.withLock { () -> [Input] in
        let last = takeGroup()
        if case .finished = completion, !last.isEmpty { append(last) }
        appendEnd(completion)
        return last
      }
      withExtendedLifetime(last) {}  // values end outside of the lock
      deliver()
    }

    override func demanded() { deliver() }

    override func ended() {
      super.ended()
      let old = lock.withLock { takeGroup() }
      withExtendedLifetime(old) {}  // values end outside of the lock
    }
  }
#endif
