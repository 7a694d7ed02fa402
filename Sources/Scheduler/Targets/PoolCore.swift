internal import CScheduler

/// One priority of a pool: of the one that everybody shares, or of a ``WorkerPool``.
final class PoolCore: TargetCore, @unchecked Sendable {
  // Unchecked, as its superclass is.
  let priority: SchedulerPriority
  /// Keeps the core's memory, beyond a shutdown, for whoever still submits, and is refused.
  private let pool: OwnedPool

  fileprivate init(_ priority: SchedulerPriority, of pool: OwnedPool) {
    self.priority = priority
    self.pool = pool
    super.init(csched_pool_target(pool.pool, priority.core))
  }

  /// How many of its actions run at a time.
  var workers: Int { csched_pool_worker_count(pool.pool) }

  override func makeScheduler() -> any ImmediateSchedulerType & AnyObject { ConcurrentScheduler(core: self) }

  override var isOrphaned: Bool { csched_pool_is_orphaned(pool.pool) }

  /// Whether it is of a pool that everybody shares, which stays until a shutdown.
  override var isShared: Bool { pool.isShared }

  /// Another priority: of its own pool, or of the present one that everybody shares.
  func sibling(_ priority: SchedulerPriority) -> PoolCore {
    isShared ? .shared(priority) : pool.living(priority) ?? self
  }

  // MARK: the present pool

  private struct Pools {
    var present: OwnedPool?
    /// Those that a fork has orphaned. Kept for ever: a job of theirs that forked goes on in the child.
    var orphaned: [OwnedPool] = []

    /// The present pool. One that a fork has orphaned is not it any more.
    mutating func find() -> OwnedPool? {
      if let pool = present, csched_pool_is_orphaned(pool.pool) {
        orphaned.append(pool)
        present = nil
      }
      return present
    }
  }

  private static let pools = Protected(Pools())

  /// That priority of the present pool, which is started if need be; a child of fork starts one of its own.
  private static func started(_ priority: SchedulerPriority) throws(SchedulerError) -> PoolCore {
    try pools.withLock { pools throws(SchedulerError) in
      if pools.find() == nil {
        pools.present = try OwnedPool(name: "scheduler", isShared: true)
      }
      return pools.present!.core(priority)
    }
  }

  /// Starts the pool, unless it has been.
  static func prepare() throws(SchedulerError) { _ = try started(.default) }

  /// That priority of the present pool. The system may have no thread to give just now: whoever asks first waits for one.
  static func shared(_ priority: SchedulerPriority) -> PoolCore {
    var refusal: SchedulerError?
    for pause: csched_time in [0, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000] {
      csched_swift_sleep_until_(csched_now() + pause)
      do { return try started(priority) } catch { refusal = error }
    }
    misuse(
      "ConcurrentScheduler.init",
      "the system has no thread for the pool: \(refusal!). Call ConcurrentScheduler.prepare() before, and handle its error."
    )
  }

  /// How many threads the present pool has.
  static var threads: Int { pools.withLock { $0.present.map { csched_pool_live_threads_($0.pool) } ?? 0 } }

  /// Ends the present pool, and waits until its threads are gone. Whoever asks later gets another pool.
  static func shutDown(_ policy: csched_stop_policy) {
    let ending = pools.withLock { pools in
      defer { pools.present = nil }
      return pools.find()
    }
    guard let ending else { return }
    csched_pool_stop(ending.pool, policy)
    _ = ending.join()
  }
}

/// Owns a pool of the core, and the cores of its priorities, which own it in turn until its threads have ended: a thread inside of a
/// target finds the core there, which the target holds unretained. So the last owner is none of the pool's threads.
final class OwnedPool: @unchecked Sendable {
  // Unchecked, because a pointer is not Sendable; what it points to may be used from any thread.
  let pool: OpaquePointer
  let isShared: Bool
  private let cores = Protected<[PoolCore]>([])

  /// Zeros stand for the core's defaults (pool.h).
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
    cores.write(SchedulerPriority.allCases.map { PoolCore($0, of: self) })
  }

  /// One of its priorities; `nil` when its threads have ended.
  func living(_ priority: SchedulerPriority) -> PoolCore? { cores.read().first { $0.priority == priority } }

  /// One of its priorities, before its end.
  func core(_ priority: SchedulerPriority) -> PoolCore { living(priority)! }

  /// Waits until the threads of a stopped pool are gone. Returns an errno value: `EDEADLK` on one of them.
  func join() -> Int32 {
    let error = csched_pool_join(pool)
    if error == 0 { withExtendedLifetime(cores.exchange([])) {} }  // nobody is inside of their targets any more
    return error
  }

  deinit { csched_pool_destroy(pool) }  // which does nothing to one that a fork has orphaned
}
