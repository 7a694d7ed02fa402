internal import CScheduler

/// Runs actions concurrently on the threads of a pool. All concurrent and serial schedulers share one pool, except
/// those of a ``WorkerPool``.
///
/// ```swift
/// let workers = ConcurrentScheduler(priority: .low)
/// for image in images { workers.schedule { image.decode() } }
/// ```
///
/// 1. At most as many actions run at a time as there are usable processors. When all of them are blocked, the pool adds
///    a thread.
/// 2. Actions have no order. The effects of one action are not visible to another without synchronization.
/// 3. An idle pool sleeps, without wakeups.
/// 4. In a child of `fork`, a scheduler made before the fork stops the process with a message. A scheduler made in the
///    child uses a new pool.
public final class ConcurrentScheduler: SchedulerTarget, @unchecked Sendable {
  // Unchecked, as its superclass is.
  /// The scheduler's name.
  public let name: String
  /// Retains the owner of the core's target: a ``WorkerPool``, or the virtual time in which the scheduler was created.
  /// `nil` on the shared pool.
  private let owner: AnyObject?

  /// Creates a scheduler with the given priority.
  ///
  /// - Parameters:
  ///   - name: the value of ``name``, of any length.
  ///   - priority: the priority of the actions among all work on the pool.
  public init(name: String = "", priority: SchedulerPriority = .default) {
    self.name = name
    let virtual = SharedPool.replacement  // nil outside of virtual time
    owner = virtual
    let core = virtual?.core ?? PoolCore.shared(priority)
    // All schedulers of one priority share a core. The marker makes `Schedulers.current` return this scheduler in its
    // actions.
    let marker = SchedulerMarker(madeBy: { ConcurrentScheduler(name: name, core: core, marker: $0) })
    super.init(core: core, marker: marker)
  }

  /// Creates a scheduler that runs at most `limit` actions at a time, on the same pool. Other actions wait, in the
  /// order of submission.
  ///
  /// ```swift
  /// let downloads = ConcurrentScheduler(name: "downloads", limit: 4)
  /// for page in pages { downloads.schedule { page.fetch() } }   // at most four threads, even while all four block
  /// ```
  ///
  /// The limit counts actions, and jobs of tasks from one suspension to the next. A suspended async function does not
  /// count.
  ///
  /// A blocked action counts. So do delayed and periodic actions, jobs of tasks, and queues that target this scheduler.
  /// An action that waits for other actions of this scheduler counts during the wait. At a limit of 1, such a wait
  /// never ends.
  ///
  /// - Parameters:
  ///   - name: the value of ``name``, of any length.
  ///   - priority: the priority of the actions among all work on the pool.
  ///   - limit: how many actions run at a time. Less than 1 stops the process with a message. More than the pool has
  ///     threads has no effect.
  public init(name: String = "", priority: SchedulerPriority = .default, limit: Int) {
    self.name = name
    let virtual = SharedPool.replacement  // nil outside of virtual time
    owner = virtual
    super.init(core: LimitCore(name: name, on: virtual?.core ?? PoolCore.shared(priority), to: limit))
  }

  /// What `schedule` does that finds as many actions waiting as the scheduler's bound.
  public enum FullPolicy: Sendable {
    /// It refuses the action: see ``SchedulerError/refused``. `schedule { … } onDrop: { … }` and ``trySchedule(_:)``
    /// report it.
    case refuse
    /// It blocks the calling thread until there is room. The thread runs actions of the scheduler meanwhile, so it must
    /// not hold a lock that they take. Where it would wait for ever, it refuses: in an action of the scheduler itself,
    /// in an `onDrop:` handler, and where a `sync` of a queue on it would be a deadlock. In virtual time it does not
    /// wait, and accepts the action. Do not call it in async code.
    case block
  }

  /// Creates a scheduler that runs at most `limit` actions at a time, and lets at most `waiting` more wait.
  ///
  /// ```swift
  /// let images = ConcurrentScheduler(name: "images", limit: 4, waiting: 100, whenFull: .block)
  /// for file in files { images.schedule { resize(file) } }   // continues when there is room
  /// ```
  ///
  /// The bound holds for actions that are scheduled to run now. Delayed actions whose time has come, queues on the
  /// scheduler, and jobs of tasks are always accepted; they count while they wait. The place of a disposed action is
  /// free for the next one, with a bound above 256 after some refusals. What else a limit is: see
  /// ``init(name:priority:limit:)``.
  ///
  /// - Parameters:
  ///   - name: the value of ``name``, of any length.
  ///   - priority: the priority of the actions among all work on the pool.
  ///   - limit: how many actions run at a time. Less than 1 stops the process with a message.
  ///   - waiting: how many more may wait to start. A negative number stops the process with a message.
  ///   - whenFull: what `schedule` does when that many wait.
  public convenience init(
    name: String = "", priority: SchedulerPriority = .default, limit: Int, waiting: Int, whenFull: FullPolicy = .refuse
  ) {
    if waiting < 0 {
      misuse("ConcurrentScheduler.init", of: name, "\(waiting) waiting actions cannot be. Give 0 or more.")
    }
    self.init(name: name, priority: priority, limit: limit)
    (core as! LimitCore).setBound(waiting, blocks: whenFull == .block)
  }

  /// Schedules `action`, or throws if the scheduler is full (``FullPolicy``), or was shut down.
  ///
  /// - Parameter action: the work to run. It is released, with its captures, when it has run, is disposed, or is
  ///   dropped.
  /// - Returns: a disposable that cancels the action.
  /// - Throws: ``SchedulerError/refused``.
  @discardableResult
  public func trySchedule(_ action: @escaping @Sendable () -> Void) throws(SchedulerError) -> any Disposable {
    // `callerReportsRefusal`: the thrown error reports a refusal, so a debug build prints no line about it
    let (task, isAccepted) = core.submit(action, inside: marker, callerReportsRefusal: true)
    guard isAccepted else { throw SchedulerError.refused }
    return task
  }

  /// A scheduler whose actions are barriers among the actions of this scheduler, which must have a limit. A barrier
  /// starts when all actions submitted before it to either scheduler have ended. It runs alone. Actions submitted later
  /// start when the barrier has ended.
  ///
  /// ```swift
  /// let cache = ConcurrentScheduler(name: "cache", limit: 8)
  /// cache.schedule { show(entries[key]) }            // up to eight at a time
  /// cache.barrier.schedule { entries[key] = value }  // alone
  /// ```
  ///
  /// 1. Barriers run one at a time, in the order of submission. The effects of a barrier are visible to all later
  ///    actions. A delayed action is a barrier from its instant on. Each tick of a periodic action is a barrier.
  /// 2. A barrier that is disposed while it waits still blocks other actions, but only until the next action is
  ///    scheduled or ends.
  /// 3. Do not wait for a barrier inside an action of the scheduler, or for an action inside a barrier: the wait would
  ///    never end. A queue whose target is this scheduler detects this: see ``SerialScheduler/sync(_:)``.
  /// 4. In a barrier ``Schedulers/current`` is the scheduler that this property returns.
  ///
  /// Barriers have the meaning of Dispatch's barriers. A scheduler without a limit shares the pool with all others, so
  /// it has no barriers: there this property stops the process with a message. Thread: any.
  public var barrier: SchedulerTarget {
    guard let limit = core as? LimitCore else {
      misuse(
        "ConcurrentScheduler.barrier", of: name,
        "without a limit it has no barriers. Make it with one: as many as there are processors, or more.")
    }
    return limit.barrier
  }

  /// Creates a scheduler on an existing core, whose target `owner` owns. If the core's pool has ended, the scheduler
  /// refuses all actions.
  init(name: String = "", on owner: AnyObject? = nil, core: TargetCore, marker: SchedulerMarker? = nil) {
    self.name = name
    self.owner = owner
    super.init(core: core, marker: marker)
  }

  /// Starts the pool's first thread if it does not run yet, or throws the reason why it cannot start. A later attempt
  /// may succeed.
  ///
  /// Without this call, the first scheduler that needs the pool starts it. If the system provides no thread for about a
  /// second, the process stops with a message.
  public static func prepare() throws(SchedulerError) { try PoolCore.prepare() }

  /// Calls `body`, which is about to block, on this thread. If this is a thread of the pool, another thread replaces it
  /// meanwhile.
  ///
  /// Without this call, the pool detects a blocked thread after some milliseconds. For async functions see
  /// ``runAndWait(timeout:needing:_:)``.
  ///
  /// ```swift
  /// let line = ConcurrentScheduler.withReplacementThread { readLine() }
  /// ```
  ///
  /// - Parameter body: the blocking work. It is called on this thread, and its result is returned.
  public static func withReplacementThread<Value, Failure: Error>(
    _ body: () throws(Failure) -> Value
  ) throws(Failure) -> Value {
    csched_pool_blocking_begin()
    defer { csched_pool_blocking_end() }
    return try body()
  }
}

extension ConcurrentScheduler {
  /// Returns a scheduler for work of `priority` on the same pool. ``Schedulers/current`` in its actions is this
  /// scheduler. Returns this scheduler if it has this priority already, has a limit, or is in virtual time.
  package func prioritized(_ priority: SchedulerPriority) -> ConcurrentScheduler {
    guard let pool = core as? PoolCore, pool.priority != priority else { return self }
    return ConcurrentScheduler(  // the same marker, so that `Schedulers.current` returns this scheduler
      name: name, on: owner, core: pool.sibling(priority), marker: marker as? SchedulerMarker)
  }
}
