internal import CScheduler

/// One priority of a pool: of the shared pool, or of a ``WorkerPool``.
final class PoolCore: TargetCore, @unchecked Sendable {
  // Unchecked, as its superclass is.
  let priority: SchedulerPriority
  /// Keeps the C core's memory alive after a shutdown. Later submissions are then refused safely.
  private let pool: OwnedPool

  fileprivate init(_ priority: SchedulerPriority, of pool: OwnedPool) {
    self.priority = priority
    self.pool = pool
    super.init(csched_pool_target(pool.pool, priority.core))
  }

  /// How many actions of the pool run at a time.
  var workers: Int { csched_pool_worker_count(pool.pool) }

  override func makeScheduler() -> any ImmediateSchedulerType & AnyObject { ConcurrentScheduler(core: self) }

  override var isOrphaned: Bool { csched_pool_is_orphaned(pool.pool) }

  /// Whether it belongs to the shared pool, which lives until a shutdown.
  override var isShared: Bool { pool.isShared }

  /// Returns another priority of the same pool. On a shared pool: of the present shared pool.
  func sibling(_ priority: SchedulerPriority) -> PoolCore {
    isShared ? .shared(priority) : pool.living(priority) ?? self
  }

  // MARK: the present pool

  private struct Pools {
    var present: OwnedPool?
    /// Pools that a fork has orphaned. They are never freed: a job that called fork continues in the child.
    var orphaned: [OwnedPool] = []

    /// Returns the present pool. A pool that a fork has orphaned is moved to `orphaned`.
    mutating func find() -> OwnedPool? {
      if let pool = present, csched_pool_is_orphaned(pool.pool) {
        orphaned.append(pool)
        present = nil
      }
      return present
    }
  }

  private static let pools = Protected(Pools())

  /// Returns that priority of the present pool. Starts the pool if needed; a child of `fork` starts a new one.
  private static func started(_ priority: SchedulerPriority) throws(SchedulerError) -> PoolCore {
    try pools.withLock { pools throws(SchedulerError) in
      if pools.find() == nil {
        pools.present = try OwnedPool(name: "scheduler", isShared: true)
      }
      return pools.present!.core(priority)
    }
  }

  /// Starts the pool if it has not been started.
  static func prepare() throws(SchedulerError) { _ = try started(.default) }

  /// Returns that priority of the present pool. If the system has no thread to give, the caller retries with pauses.
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

  /// The number of threads of the present pool.
  static var threads: Int { pools.withLock { $0.present.map { csched_pool_live_threads_($0.pool) } ?? 0 } }

  /// Ends the present pool, and waits until its threads have ended. A later caller of `shared` gets a new pool.
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

/// Owns a pool of the C core, and one `PoolCore` for each priority. These retain this object until the pool's threads have ended. A thread inside a
/// target finds the `PoolCore` there, where it is unretained. So the last owner is never a thread of the pool.
final class OwnedPool: @unchecked Sendable {
  // Unchecked, because a pointer is not Sendable; what it points to may be used from any thread.
  let pool: OpaquePointer
  let isShared: Bool
  private let cores = Protected<[PoolCore]>([])

  /// Zeros mean the defaults of the C core (pool.h).
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

  /// Returns one of its priorities; `nil` after its threads have ended.
  func living(_ priority: SchedulerPriority) -> PoolCore? { cores.read().first { $0.priority == priority } }

  /// Returns one of its priorities. Requires that its threads have not ended.
  func core(_ priority: SchedulerPriority) -> PoolCore { living(priority)! }

  /// Waits until the threads of a stopped pool have ended. Returns an errno value: `EDEADLK` on a thread of the pool.
  func join() -> Int32 {
    let error = csched_pool_join(pool)
    if error == 0 { withExtendedLifetime(cores.exchange([])) {} }  // no thread is inside their targets
    return error
  }

  deinit { csched_pool_destroy(pool) }  // does nothing for a pool that a fork has orphaned
}

/// What takes the place of the shared pool for schedulers that are made in virtual time. The module `SchedulerVirtualTime` sets it.
package enum SharedPool {
  private static let find = Protected<(@Sendable () -> SchedulerTarget?)?>(nil)

  /// Makes `find` return the target of schedulers that the calling thread or task makes; `nil` for the shared pool.
  package static func replace(with find: @escaping @Sendable () -> SchedulerTarget?) { self.find.write(find) }

  static var replacement: SchedulerTarget? { find.read()?() }
}
