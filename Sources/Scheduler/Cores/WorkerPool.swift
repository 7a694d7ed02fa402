internal import CScheduler

/// A separate pool of threads, beside the one that ``ConcurrentScheduler`` shares. Use it for work that blocks often,
/// needs another stack size, or must not wait behind other work of the process.
///
/// ```swift
/// let files = try WorkerPool(name: "files", workers: 8, maxThreads: 8)
/// let reading = files.scheduler()
/// for path in paths { reading.schedule { read(path) } }
/// ```
///
/// 1. At most `workers` actions run at a time. When all of them block, the pool adds threads, up to `maxThreads`. If
///    all threads are blocked, queued work waits until one continues. A line on the standard error reports this once,
///    unless `maxThreads` equals `workers`.
/// 2. The pool's schedulers, and queues on them, retain the pool. When the last reference is released, the pool stops
///    as by ``stop(_:)``, and runs its outstanding actions.
/// 3. In a child of `fork` the pool has no threads. Scheduling on it there stops the process with a message.
public final class WorkerPool: Sendable {
  /// The name of its threads. The system shows it shortened, with a number added.
  public let name: String
  private let pool: OwnedPool
  private let cores: [PoolCore]  // one for each priority

  /// Starts a pool with its first thread.
  ///
  /// - Parameters:
  ///   - name: the name of its threads, shortened so that it fits into 15 bytes with the number. Empty: unnamed.
  ///   - workers: how many actions run at a time. Less than 1 stops the process with a message. `nil`: the number of
  ///     usable processors.
  ///   - maxThreads: the maximum number of threads, blocked ones included. A value below `workers` lowers `workers`.
  ///     `nil`: 64 more than `workers`, and while all of these are blocked and work waits, one more every 5 ms.
  ///   - stackSize: the stack size in bytes. A value below the system's minimum means that minimum. `nil`: the system's
  ///     default.
  /// - Throws: ``SchedulerError/system(_:)`` if the system has no thread or memory.
  public init(
    name: String = "", workers: Int? = nil, maxThreads: Int? = nil, stackSize: Int? = nil
  ) throws(SchedulerError) {
    if let workers, workers < 1 {
      misuse(
        "WorkerPool.init", of: name,
        "\(workers) workers would run nothing. Give 1 or more, or nil for the number of usable processors.")
    }
    self.name = name
    // To OwnedPool, 0 means the C core's default. So a given `maxThreads` or `stackSize` below 1 becomes 1.
    pool = try OwnedPool(
      name: name, workers: workers ?? 0, maxThreads: maxThreads.map { max(1, $0) } ?? 0,
      stackSize: stackSize.map { max(1, $0) } ?? 0)
    cores = SchedulerPriority.allCases.map(pool.core)
  }

  deinit {
    stop()
    guard !csched_pool_is_orphaned(pool.pool) else { return }  // a fork child has no threads to wait for
    // The pool is freed after a `join`. That blocks, so a thread of the library's own calls it. Without one, the memory
    // is never freed.
    PoolCore.waiting()?.submit { [pool] in ConcurrentScheduler.withReplacementThread { _ = pool.join() } }
  }

  /// Returns a new scheduler that runs actions on this pool with the given priority.
  ///
  /// - Parameters:
  ///   - name: the value of its `name`, of any length.
  ///   - priority: the priority of its actions among all work on this pool.
  public func scheduler(name: String = "", priority: SchedulerPriority = .default) -> ConcurrentScheduler {
    let core = cores.first { $0.priority == priority }!  // there is one for each priority
    // Each scheduler has its own marker, by which `Schedulers.current` finds it. If the scheduler was released, the
    // marker makes a new one.
    let marker = SchedulerMarker(madeBy: { [weak self] in
      ConcurrentScheduler(name: name, on: self, core: core, marker: $0)
    })
    return ConcurrentScheduler(name: name, on: self, core: core, marker: marker)
  }

  /// The maximum number of actions that run at a time.
  public var workerCount: Int { csched_pool_worker_count(pool.pool) }

  /// The present number of threads, including blocked and idle ones.
  public var threadCount: Int { csched_pool_thread_count(pool.pool) }

  /// Stops the pool. It refuses further work, and its threads end when the outstanding actions have run or been
  /// dropped, by `policy`. Does not wait. Call this any number of times, on any thread.
  ///
  /// - Parameter policy: how to treat actions that have not started.
  public func stop(_ policy: Schedulers.StopPolicy = .runOutstanding) { csched_pool_stop(pool.pool, policy.core) }

  /// Waits until the threads of a stopped pool have ended. On one of these threads the wait would never end, so it
  /// stops the process with a message.
  @available(*, noasync, message: "it blocks a thread of Swift's own: use await stopAndJoin")
  public func join() {
    if ConcurrentScheduler.withReplacementThread({ pool.join() }) != 0 {
      misuse("WorkerPool.join", of: name, "called on one of its threads, which it would wait for. Join elsewhere.")
    }
  }

  /// Stops the pool, and suspends the task until its threads have ended. A cancelled task waits too.
  ///
  /// - Parameter policy: how to treat actions that have not started.
  public func stopAndJoin(_ policy: Schedulers.StopPolicy = .runOutstanding) async {
    stop(policy)
    await awaitBlockingCall(isolation: nil) { [pool] in _ = pool.join() }
  }

  /// Stops the pool, and suspends the task until its threads have ended, until `deadline` at the latest. After a
  /// timeout the stop continues.
  ///
  /// - Parameters:
  ///   - policy: how to treat actions that have not started.
  ///   - deadline: the end of the wait.
  ///   - clock: the clock of `deadline`.
  ///   - isolation: the caller's isolation, in which this function runs.
  /// - Throws: ``SchedulerError/timeout`` at the deadline; `CancellationError` if the task is cancelled first.
  public func stopAndJoin<C: Clock>(
    _ policy: Schedulers.StopPolicy = .runOutstanding, deadline: C.Instant, clock: C = ContinuousClock(),
    isolation: isolated (any Actor)? = #isolation
  ) async throws {
    try await awaitEnd(AnyDeadline(deadline, clock), isolation: isolation) { await self.stopAndJoin(policy) }
  }

  /// Stops and waits as ``stopAndJoin(_:deadline:clock:isolation:)`` does, without a clock; inside `withVirtualTime` on
  /// that time.
  ///
  /// - Parameters:
  ///   - policy: how to treat actions that have not started.
  ///   - deadline: the end of the wait.
  ///   - isolation: the caller's isolation, in which this function runs.
  /// - Throws: what ``stopAndJoin(_:deadline:clock:isolation:)`` throws.
  public func stopAndJoin(
    _ policy: Schedulers.StopPolicy = .runOutstanding, deadline: Deadline,
    isolation: isolated (any Actor)? = #isolation
  ) async throws {
    try await stopAndJoin(policy, deadline: deadline, clock: DeadlineClock(), isolation: isolation)
  }
}
