internal import CScheduler

/// The core of a pool's target for one priority. The pool is the shared pool, or that of a ``WorkerPool``.
final class PoolCore: TargetCore, @unchecked Sendable {
  // Unchecked, as its superclass is.
  let priority: SchedulerPriority
  /// Retained, so that the C pool is not freed while a submission uses it. A stopped C pool refuses submissions.
  private let pool: OwnedPool

  fileprivate init(_ priority: SchedulerPriority, of pool: OwnedPool) {
    self.priority = priority
    self.pool = pool
    super.init(csched_pool_target(pool.pool, priority.core))
  }

  /// The maximum number of actions of the pool that run at a time.
  var workers: Int { csched_pool_worker_count(pool.pool) }
  override func makeScheduler() -> any ImmediateSchedulerType & AnyObject { ConcurrentScheduler(core: self) }
  override var isOrphaned: Bool { csched_pool_is_orphaned(pool.pool) }
  override var isShared: Bool { pool.isShared }  // false for a WorkerPool

  /// Returns the core of the same pool for `priority`; if this pool is shared, that of the present shared pool.
  func sibling(_ priority: SchedulerPriority) -> PoolCore {
    // `living` returns nil after a join. Then every core of the pool refuses, and `self` serves as well as another.
    isShared ? .shared(priority) : pool.living(priority) ?? self
  }

  // MARK: the present shared pool

  // To start a pool, this class and `OwnedPool` use no generic type such as `Protected` or `[PoolCore]`. To make their metadata, the runtime took a
  // third of the time from the start of a program to its first action.
  private final class Pools: @unchecked Sendable {
    // Unchecked: `lock` guards the other fields.
    let lock = InlineLock()
    // the shared pool that new submissions use; nil before the first use and after a shutdown
    @exclusivity(unchecked) var present: OwnedPool?
    /// In a child of fork: the parent's shared pools, which have no threads here. They are never freed: a job that called fork still uses its pool.
    @exclusivity(unchecked) var orphaned: [OwnedPool] = []

    /// Returns `present`. In a child of fork, `present` may still be the parent's pool: then first moves that pool to `orphaned`, and returns nil.
    func currentLocked() -> OwnedPool? {
      if let pool = present, csched_pool_is_orphaned(pool.pool) {
        orphaned.append(pool)
        present = nil
      }
      return present
    }
  }

  private static let pools = Pools()

  /// Returns the core for `priority` of the present shared pool. Starts a pool if there is none, as in a child of `fork`.
  @inline(never) private static func startIfNeeded(_ priority: SchedulerPriority) throws(SchedulerError) -> PoolCore {
    try pools.lock.withLock { () throws(SchedulerError) in
      if pools.currentLocked() == nil {
        pools.present = try OwnedPool(name: "scheduler", isShared: true)
      }
      return pools.present!.core(priority)
    }
  }

  /// Starts the shared pool if there is none.
  static func prepare() throws(SchedulerError) { _ = try startIfNeeded(.default) }

  /// Returns the core for `priority` of the shared pool, which it starts if needed. If the pool does not start, usually because the system
  /// refuses a thread, tries again after pauses. After the fifth failure, stops the process with a message.
  static func shared(_ priority: SchedulerPriority) -> PoolCore {
    var refusal: SchedulerError?
    // the pauses before the five tries, in nanoseconds
    for pause: csched_time in [0, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000] {
      csched_swift_sleep_until_(csched_now() + pause)
      do { return try startIfNeeded(priority) } catch { refusal = error }
    }
    misuse(
      "ConcurrentScheduler.init",
      "the system has no thread for the pool: \(refusal!). Call ConcurrentScheduler.prepare() before, and handle its error."
    )
  }

  /// The number of threads of the present shared pool; 0 if there is none.
  static var threads: Int { pools.lock.withLock { pools.present.map { csched_pool_live_threads_($0.pool) } ?? 0 } }

  /// Stops the present shared pool, and waits until its threads have ended. A later call of `shared` starts a new pool. `policy`: whether queued jobs
  /// run or are dropped.
  static func shutDown(_ policy: csched_stop_policy) {
    // removed under the lock; stopped outside it, because its actions may use `pools`
    let ending = pools.lock.withLock {
      defer { pools.present = nil }  // runs after the return value was read
      return pools.currentLocked()
    }
    guard let ending else { return }
    csched_pool_stop(ending.pool, policy)
    _ = ending.join()  // fails only on a pool thread, where the caller, `Schedulers.shutdown`, stops the process before
  }
}

/// Owns a pool of the C core, and one `PoolCore` for each priority. The cores and this object retain each other until `join` has waited for the
/// pool's threads. So a target's unretained `owner` stays valid for these threads, and none of them releases the final reference. Without a
/// `join`, the cores and this object are never freed.
final class OwnedPool: @unchecked Sendable {
  // Unchecked, because of `pool`, which any thread may use.
  let pool: OpaquePointer
  let isShared: Bool
  private let lock = InlineLock()
  @exclusivity(unchecked) private var cores: Cores?  // nil after `join`; guarded by `lock`

  /// A core for each priority.
  private final class Cores {
    let high, `default`, low, background: PoolCore

    init(of pool: OwnedPool) {
      high = PoolCore(.high, of: pool)
      `default` = PoolCore(.default, of: pool)
      low = PoolCore(.low, of: pool)
      background = PoolCore(.background, of: pool)
    }

    func core(_ priority: SchedulerPriority) -> PoolCore {
      switch priority {
      case .high: high
      case .default: `default`
      case .low: low
      case .background: background
      }
    }
  }

  /// Creates a pool and starts its first thread. A number of 0 means the C core's default (pool.h).
  init(
    name: String, workers: Int = 0, maxThreads: Int = 0, stackSize: Int = 0, isShared: Bool = false
  ) throws(SchedulerError) {
    var pool: OpaquePointer?
    let error = name.withCString { name in
      var options = csched_pool_options()
      options.name = name
      options.workers = workers
      options.most_threads = maxThreads
      options.stack_size = stackSize
      return csched_pool_create(&pool, &options)
    }
    guard let pool, error == 0 else { throw SchedulerError.system(error) }
    self.pool = pool
    self.isShared = isShared
    cores = Cores(of: self)
  }

  /// Returns the core for `priority`; nil after `join`.
  @inline(never) func living(_ priority: SchedulerPriority) -> PoolCore? { lock.withLock { cores }?.core(priority) }

  /// Returns the core for `priority`. Requires: `join` has not returned 0.
  func core(_ priority: SchedulerPriority) -> PoolCore { living(priority)! }

  /// Waits until the threads of a stopped pool have ended. Returns an errno value: `EDEADLK` on a thread of the pool.
  func join() -> Int32 {
    let error = csched_pool_join(pool)
    // releases the cores, outside the lock: the pool's threads no longer use them
    if error == 0 { withExtendedLifetime(lock.withLock { cores.take() }) {} }
    return error
  }

  deinit { csched_pool_destroy(pool) }  // does nothing for a pool that a fork has orphaned
}
