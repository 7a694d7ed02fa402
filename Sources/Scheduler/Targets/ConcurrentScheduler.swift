internal import CScheduler

/// Runs actions side by side, on the threads of a pool that all concurrent and serial schedulers share, unless it is of a ``WorkerPool``.
///
/// ```swift
/// let workers = ConcurrentScheduler(priority: .low)
/// for image in images { workers.schedule { image.decode() } }
/// ```
///
/// 1. As many actions run at a time as there are processors to use; when all of them are blocked, another thread takes their place.
/// 2. There is no order between actions, and nothing that one did is visible to another without further means.
/// 3. A pool with nothing to do sleeps, with no wakeups.
/// 4. In a child of `fork` a scheduler that was made before stops the process with a message; one that is made there has a pool of
///    its own.
public final class ConcurrentScheduler: SchedulerTarget, @unchecked Sendable {
  // Unchecked, as its superclass is.
  /// What it was called.
  public let name: String
  /// The pool that it is on, if that is not the one that all share: kept.
  let ownPool: WorkerPool?

  /// Makes one whose actions have that priority.
  ///
  /// - Parameters:
  ///   - name: for ``name``, any length.
  ///   - priority: of its actions, among all that is on the pool.
  public init(name: String = "", priority: SchedulerPriority = .default) {
    self.name = name
    ownPool = nil
    let core = PoolCore.shared(priority)
    // A tag of its own, so that each of several schedulers with one priority is found as the current one.
    let tag = CurrentTag(madeBy: { ConcurrentScheduler(name: name, core: core, tag: $0) })
    super.init(core: core, tag: tag)
  }

  /// Makes one of whose actions at most `limit` run at a time, on the same pool: the others wait, in the order of their submission.
  ///
  /// ```swift
  /// let downloads = ConcurrentScheduler(name: "downloads", limit: 4)
  /// for page in pages { downloads.schedule { page.fetch() } }   // four threads at the most, though all of them block
  /// ```
  ///
  /// The limit counts actions, and jobs of tasks from one suspension to the next. It does not count async functions: one that is suspended takes no place.
  ///
  /// An action that is blocked counts. Delayed and periodic actions, jobs of tasks, and queues on it count, too: to wait inside of an
  /// action for others of its own takes one place while it waits, and at a limit of 1 never ends.
  ///
  /// - Parameters:
  ///   - name: for ``name``, any length.
  ///   - priority: of the actions, among all that is on the pool.
  ///   - limit: how many run at a time. Less than 1 stops the process with a message; more than the pool has threads limits nothing.
  public init(name: String = "", priority: SchedulerPriority = .default, limit: Int) {
    self.name = name
    ownPool = nil
    super.init(core: LimitCore(name: name, on: PoolCore.shared(priority), to: limit))
  }

  /// What is scheduled here is a barrier among the actions of this scheduler, which has a limit: it begins when all that was scheduled before it,
  /// here or there, has ended, and runs alone; what is scheduled after it begins when it has ended.
  ///
  /// ```swift
  /// let cache = ConcurrentScheduler(name: "cache", limit: 8)
  /// cache.schedule { show(entries[key]) }            // up to eight at a time
  /// cache.barrier.schedule { entries[key] = value }  // none beside it
  /// ```
  ///
  /// 1. Barriers run one at a time, in the order of their submission; what one did is visible to all that comes later. A delayed one is a barrier
  ///    from its instant on, and each tick of a periodic one is one.
  /// 2. A barrier that is disposed while it waits keeps nothing waiting, from the next action on that is scheduled or ends.
  /// 3. Not to be waited for inside of an action of the scheduler, nor inside of a barrier is another action: neither would end. A queue whose
  ///    target is this scheduler finds out, as ``SerialScheduler/sync(_:)`` says.
  /// 4. ``Schedulers/current`` is this scheduler inside.
  ///
  /// The meaning is that of Dispatch's barriers. Of a scheduler without a limit, whose actions share the pool with all others, there are none: that
  /// stops the process with a message. Thread: any.
  public var barrier: SchedulerTarget {
    guard let limit = core as? LimitCore else {
      misuse(
        "ConcurrentScheduler.barrier", of: name,
        "without a limit it has no barriers. Make it with one: as many as there are processors, or more.")
    }
    return limit.barrier
  }

  /// Makes one on a pool that may have ended: it then refuses.
  init(name: String = "", on pool: WorkerPool? = nil, core: TargetCore, tag: CurrentTag? = nil) {
    self.name = name
    ownPool = pool
    super.init(core: core, tag: tag)
  }

  /// Starts the pool's first thread, unless it runs, or says why that cannot be done. A later attempt may succeed.
  ///
  /// Without it the first scheduler that needs the pool starts it; if the system has no thread to give for a second, that stops the
  /// process with a message.
  public static func prepare() throws(SchedulerError) { try PoolCore.prepare() }

  /// Calls `body`, which is about to block, on this thread; if that is one of the pool's, another one takes its place meanwhile.
  ///
  /// Without it the pool finds out by itself, after some milliseconds. It waits for nothing: to wait for an async function see
  /// ``runAndWait(timeout:needing:_:)``.
  ///
  /// ```swift
  /// let line = ConcurrentScheduler.withReplacementThread { readLine() }
  /// ```
  ///
  /// - Parameter body: what is about to block. It is called on this thread, and its result is returned.
  public static func withReplacementThread<Value, Failure: Error>(
    _ body: () throws(Failure) -> Value
  ) throws(Failure) -> Value {
    csched_pool_blocking_begin()
    defer { csched_pool_blocking_end() }
    return try body()
  }
}
