internal import CScheduler

/// A pool of threads of one's own, beside the one that ``ConcurrentScheduler`` shares: for work that blocks a lot, needs other stacks, or must
/// not wait behind other work of the process.
///
/// ```swift
/// let files = try WorkerPool(name: "files", workers: 8, maxThreads: 8)
/// let reading = files.scheduler()
/// for path in paths { reading.schedule { read(path) } }
/// ```
///
/// 1. As many actions run at a time as it has workers. When all of them block, another thread takes their place, up to `maxThreads`: when these
///    are all blocked, what is queued waits until one goes on. That is said once, on the standard error, unless `maxThreads` is `workers`.
/// 2. Its schedulers, and queues on them, keep it. When the last of them is gone, it stops as by ``stop(_:)``, and runs what is outstanding.
/// 3. In a child of `fork` it is the parent's: who schedules on it stops the process with a message.
public final class WorkerPool: Sendable {
  /// What its threads are called, with a number behind; as the system cuts it.
  public let name: String
  private let pool: OwnedPool
  private let cores: [PoolCore]

  /// Starts a pool, with its first thread.
  ///
  /// - Parameters:
  ///   - name: of its threads; cut so that the number fits into 15 bytes. Empty: unnamed.
  ///   - workers: how many actions run at a time; less than 1, or `nil`: as many as there are processors to use.
  ///   - maxThreads: never more threads, whatever is blocked; less than `workers` lowers these; `nil`: 64 more.
  ///   - stackSize: of its threads, in bytes; less than the system's least is that; `nil`: the system's default.
  /// - Throws: ``SchedulerError/system(_:)`` when the system has no thread or memory to give.
  public init(
    name: String = "", workers: Int? = nil, maxThreads: Int? = nil, stackSize: Int? = nil
  ) throws(SchedulerError) {
    self.name = name
    // Zeros stand for the core's defaults, so that what is below the least is 1.
    pool = try OwnedPool(
      name: name, workers: max(0, workers ?? 0), maxThreads: maxThreads.map { max(1, $0) } ?? 0,
      stackSize: stackSize.map { max(1, $0) } ?? 0)
    cores = SchedulerPriority.allCases.map(pool.core)
  }

  deinit {
    stop()
    guard !csched_pool_is_orphaned(pool.pool) else { return }
    // Somebody must wait for its threads: one of the shared pool.
    PoolCore.shared(.background).submit { [pool] in ConcurrentScheduler.withReplacementThread { _ = pool.join() } }
  }

  /// A scheduler that runs actions on this pool, with that priority among all that is on it. Each call makes another one.
  ///
  /// - Parameters:
  ///   - name: for its `name`, any length.
  ///   - priority: of its actions, among all that is on this pool.
  public func scheduler(name: String = "", priority: SchedulerPriority = .default) -> ConcurrentScheduler {
    let core = cores.first { $0.priority == priority }!
    // A tag of its own, as one on the shared pool has.
    let tag = CurrentTag(madeBy: { [weak self] in ConcurrentScheduler(name: name, on: self, core: core, tag: $0) })
    return ConcurrentScheduler(name: name, on: self, core: core, tag: tag)
  }

  /// How many actions run at a time.
  public var workerCount: Int { csched_pool_worker_count(pool.pool) }

  /// How many threads it has now, blocked and idle ones included.
  public var threadCount: Int { csched_pool_thread_count(pool.pool) }

  /// Takes no more from now on; its threads end when what is outstanding has got what `policy` says. It does not wait. Any number of times, on
  /// any thread.
  ///
  /// - Parameter policy: what becomes of the actions that have not begun.
  public func stop(_ policy: Schedulers.StopPolicy = .runOutstanding) { csched_pool_stop(pool.pool, policy.core) }

  /// Waits until a stopped pool has no thread any more. On one of its own threads that could never end: it stops the process with a message.
  @available(*, noasync, message: "it blocks a thread of Swift's own: use await stopAndJoin")
  public func join() {
    if ConcurrentScheduler.withReplacementThread({ pool.join() }) != 0 {
      misuse("WorkerPool.join", of: name, "called on one of its threads, which it would wait for. Join elsewhere.")
    }
  }

  /// Stops it, and suspends the task until its threads are gone. A cancelled task waits as any other.
  ///
  /// - Parameter policy: what becomes of the actions that have not begun.
  public func stopAndJoin(_ policy: Schedulers.StopPolicy = .runOutstanding) async {
    stop(policy)
    await awaitBlockingCall(isolation: nil) { [pool] in _ = pool.join() }
  }
}
