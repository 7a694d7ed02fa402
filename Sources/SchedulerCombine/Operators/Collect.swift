#if Combine
  #if canImport(Combine)
    public import Combine
  #else
    public import OpenCombine
    internal import Scheduler

    extension Publishers {
      /// How `collect(_:options:)` groups values.
      public enum TimeGroupingStrategy<Context: OpenCombine.Scheduler> {
        /// Groups all values that arrive within the time, counted from the group's first value.
        case byTime(Context, Context.SchedulerTimeType.Stride)
        /// Like `byTime`, with at most the given number of values in a group. A count below 1 is taken as 1.
        case byTimeOrCount(Context, Context.SchedulerTimeType.Stride, Int)
      }
    }
  #endif

  extension Publisher {
    /// Delivers values in groups, each at the latest when the time of `strategy` has passed since its first value.
    ///
    /// 1. The timer runs only while a value waits: an idle pipeline causes no wakeups.
    /// 2. A full group is delivered at once, on the thread that sent its final value. A group whose time has passed is
    ///    delivered on the scheduler.
    /// 3. A group without demand waits. `byTime` requests values without limit. `byTimeOrCount` requests only as many
    ///    as fit the requested groups.
    /// 4. When the upstream finishes, the values of the open group are delivered as a final group. A failure drops
    ///    these values. Neither waits for the timer.
    public func collect(
      _ strategy: Publishers.TimeGroupingStrategy<CombineScheduler>, options: CombineScheduler.SchedulerOptions? = nil
    ) -> OperatorPublisher<[Output], Failure> {
      OperatorPublisher { downstream in
        switch strategy {
        case .byTime(let scheduler, let time):
          subscribe(CollectByTime(downstream, time, maxCount: nil, on: scheduler, options))
        case .byTimeOrCount(let scheduler, let time, let count):
          subscribe(CollectByTime(downstream, time, maxCount: Swift.max(1, count), on: scheduler, options))
        }
      }
    }
  }

  /// Collects values in the open group, and queues the group for the downstream when it is full or due.
  private final class CollectByTime<Input, Failure: Error>: SingleUpstreamStage<Input, [Input], Failure>,
    @unchecked Sendable
  {
    // Unchecked, as its superclass is.
    private let time: Instant.Stride  // from a group's first value to its delivery
    private let maxCount: Int?  // the number of values in a full group; nil: no limit
    private let timer: StepRunner  // calls `closeDueGroup` on the scheduler
    // Under the lock:
    private var group: [Input] = []  // the open group
    private var groupDue: Instant?  // when the open group is delivered at the latest; nil: the group is empty
    private var outstanding: Subscribers.Demand = .none  // requested values that have not arrived

    init(
      _ downstream: any Subscriber<[Input], Failure>, _ time: Instant.Stride, maxCount: Int?,
      on scheduler: CombineScheduler, _ options: CombineScheduler.SchedulerOptions?
    ) {
      self.time = time
      self.maxCount = maxCount
      timer = StepRunner(scheduler, options)
      super.init(downstream)
    }

    override func requested(_ groups: Subscribers.Demand) {  // by the downstream
      requestMissing()
      deliver()  // groups that waited for demand
    }

    /// Requests upstream the values that the requested groups need, except those that have arrived or are requested
    /// already.
    private func requestMissing() {
      let missing = lock.withLock { () -> Subscribers.Demand in
        guard isLive, outstanding != .unlimited else { return .none }  // nothing to request
        var missing = Subscribers.Demand.unlimited  // for `byTime`, and if the subscriber has requested without limit
        if let maxCount, let groups = demand.max {  // a finite demand for groups, of which some are queued already
          let (all, hasOverflowed) = Swift.max(0, groups - queuedCount).multipliedReportingOverflow(by: maxCount)
          if !hasOverflowed { missing = .max(Swift.max(0, all - group.count - (outstanding.max ?? 0))) }
        } else if demand == .none {
          return .none  // `byTime` requests nothing before the first group is requested
        }
        outstanding += missing
        return missing
      }
      upstream.request(missing)
    }

    /// Adds a value from upstream to the open group, and delivers the group if it is full.
    override func receiveValue(_ value: Input) {
      let now = timer.now  // read before the lock
      // A full group is queued in the critical section of its final value. Otherwise another thread could add a value
      // or queue the completion first. firstDue: when the group that `value` opens is due; nil: `value` opens none.
      let (isFull, firstDue) = lock.withLock { () -> (Bool, Instant?) in
        guard isLive else { return (false, nil) }
        group.append(value)
        outstanding -= 1  // an unlimited demand stays unlimited
        if group.count == maxCount {
          enqueue(closeGroup())
          return (true, nil)
        }
        guard group.count == 1 else { return (false, nil) }
        groupDue = now.advanced(by: time)
        return (false, groupDue)
      }
      if let firstDue { armTimer(at: firstDue) }
      if isFull {
        if timer.isArmed { timer.disarm() }  // the timer was armed for the group that is now full
        deliver()  // on this thread, because a full group does not wait for the scheduler
        requestMissing()  // values for the next group
      }
    }

    private func armTimer(at due: Instant) { timer.arm(at: due) { [self] now in closeDueGroup(now) } }

    /// Under the lock: returns the open group, and starts an empty one.
    private func closeGroup() -> [Input] {
      groupDue = nil
      defer { group = [] }
      return group
    }

    /// Called by the timer at `now`: delivers the open group if it is due.
    private func closeDueGroup(_ now: Instant) {
      let (next, ready) = lock.withLock { () -> (Instant?, [Input]?) in
        guard let groupDue else { return (nil, nil) }  // no open group: the group was full before its time
        if groupDue > now { return (groupDue, nil) }  // a newer group, which is due later
        let ready = closeGroup()
        enqueue(ready)
        return (nil, ready)
      }
      if let next { return armTimer(at: next) }
      withExtendedLifetime(ready) {}  // if `enqueue` did not keep the values, they are released outside the lock
      deliver()
      requestMissing()
    }

    override func receiveCompletion(_ completion: Subscribers.Completion<Failure>) {  // from upstream
      let rest = lock.withLock { () -> [Input] in
        let rest = closeGroup()
        if case .finished = completion, !rest.isEmpty { enqueue(rest) }  // a failure drops the open group
        enqueue(completion: completion)
        return rest
      }
      withExtendedLifetime(rest) {}  // values are released outside the lock
      deliver()
    }

    override func ended() {  // at the completion or a cancel, without the lock
      super.ended()  // cancels the upstream
      timer.dispose()
      let old = lock.withLock { closeGroup() }
      withExtendedLifetime(old) {}  // values are released outside the lock
    }
  }
#endif
