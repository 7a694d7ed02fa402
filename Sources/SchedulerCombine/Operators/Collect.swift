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
        case .byTime(let place, let time):
          subscribe(CollectByTime(downstream, time, nil, on: place, options))  // nil: a group has no maximum count
        case .byTimeOrCount(let place, let time, let count):
          subscribe(CollectByTime(downstream, time, Swift.max(1, count), on: place, options))
        }
      }
    }
  }

  /// Collects values in the open group, and queues the group when it is full or due.
  private final class CollectByTime<Input, Failure: Error>: ScheduledStage<Input, [Input], Failure>, @unchecked Sendable
  {
    // Unchecked, as its superclass is.
    private let time: Instant.Stride  // from a group's first value to its delivery
    private let maxCount: Int?  // the number of values in a full group; nil: no limit
    // Under the lock:
    private var group: [Input] = []  // the open group
    private var groupDue: Instant?  // when the open group is delivered at the latest; nil: the group is empty
    private var outstanding: Subscribers.Demand = .none  // requested values that have not arrived

    init(
      _ downstream: any Subscriber<[Input], Failure>, _ time: Instant.Stride, _ maxCount: Int?,
      on place: CombineScheduler, _ options: CombineScheduler.SchedulerOptions?
    ) {
      self.time = time
      self.maxCount = maxCount
      super.init(downstream, on: place, options)
    }

    override func wanted(_ demand: Subscribers.Demand) { requestMissing() }  // the subscriber has requested more groups
    /// Requests upstream the values that the requested groups need, except those that have arrived or are requested
    /// already.
    private func requestMissing() {
      let lacking = lock.withLock { () -> Subscribers.Demand in
        guard isLive, outstanding != .unlimited else { return .none }  // nothing to request
        var lacking = Subscribers.Demand.unlimited  // for `byTime`, and if the subscriber has requested without limit
        if let maxCount, let groups = demand.max {  // a finite demand for groups, of which `waiting` are queued already
          let (all, hasOverflowed) = Swift.max(0, groups - waiting).multipliedReportingOverflow(by: maxCount)
          if !hasOverflowed { lacking = .max(Swift.max(0, all - group.count - (outstanding.max ?? 0))) }
        } else if demand == .none {
          return .none  // `byTime` requests nothing before the first group is requested
        }
        outstanding += lacking
        return lacking
      }
      upstream.request(lacking)
    }

    /// Adds a value from upstream to the open group, and delivers the group if it is full. Returns no demand:
    /// `requestMissing` requests values.
    override func receive(_ input: Input) -> Subscribers.Demand {
      let now = place.now  // the scheduler's time, read before the lock
      // A full group is queued in the critical section of its final value. Otherwise another thread could add a value
      // or queue the completion first. firstDue: when the group that `input` opens is due; nil: `input` opens none.
      let (isFull, firstDue) = lock.withLock { () -> (Bool, Instant?) in
        guard isLive else { return (false, nil) }
        group.append(input)
        outstanding -= 1  // an unlimited demand stays unlimited
        if group.count == maxCount {
          append(closeGroup())
          return (true, nil)
        }
        guard group.count == 1 else { return (false, nil) }
        groupDue = now.advanced(by: time)
        return (false, groupDue)
      }
      if let firstDue { wake(at: firstDue) }  // arms the timer, which calls `due`
      if isFull {
        if timer.isArmed { timer.disarm() }  // the timer was armed for the group that is now full
        deliver()  // on this thread, because a full group does not wait for the scheduler
        requestMissing()  // values for the next group
      }
      return .none
    }

    /// Under the lock: returns the open group, and starts an empty one.
    private func closeGroup() -> [Input] {
      groupDue = nil
      defer { group = [] }
      return group
    }

    override func due(_ instant: Instant) {  // the timer has reached `instant`: delivers the open group if it is due
      let (next, ready) = lock.withLock { () -> (Instant?, [Input]?) in
        guard let groupDue else { return (nil, nil) }  // no open group: the group was full before its time
        if groupDue > instant { return (groupDue, nil) }  // a newer group, which is due later
        let ready = closeGroup()
        append(ready)
        return (nil, ready)
      }
      if let next { return wake(at: next) }
      withExtendedLifetime(ready) {}  // if `append` did not keep the values, they are released outside the lock
      deliverOnThisThread()
      requestMissing()
    }

    override func completed(_ completion: Subscribers.Completion<Failure>) {  // upstream's end: delivers the rest
      let rest = lock.withLock { () -> [Input] in
        let rest = closeGroup()
        if case .finished = completion, !rest.isEmpty { append(rest) }  // a failure drops the open group
        appendEnd(completion)
        return rest
      }
      withExtendedLifetime(rest) {}  // values are released outside the lock
      deliver()
    }

    /// Delivers waiting groups on the thread that requests them; the superclass would do so on the scheduler.
    override func deliverRequested() { deliver() }

    override func ended() {  // at the completion or a cancel, without the lock
      super.ended()
      let old = lock.withLock { closeGroup() }
      withExtendedLifetime(old) {}  // values are released outside the lock
    }
  }
#endif
