internal import CScheduler

/// One priority of the pool that everybody shares.
final class PoolCore: TargetCore, @unchecked Sendable {
  // Unchecked, as its superclass is.
  let priority: SchedulerPriority
  /// Keeps the core's memory, beyond a shutdown, for whoever still submits, and is refused.
  private let pool: SharedPool

  private init(_ priority: SchedulerPriority, of pool: SharedPool) {
    self.priority = priority
    self.pool = pool
    super.init(csched_pool_target(pool.pool, priority.core))
  }

  override func makeScheduler() -> any ImmediateSchedulerType & AnyObject {
    ConcurrentScheduler(priority: priority)
  }

  // MARK: the present pool

  /// The priorities of the present pool; none while there is no pool.
  private static let all = Protected<[PoolCore]>([])

  /// That priority of the present pool, which is started if need be; a child of fork starts one of its own.
  private static func started(_ priority: SchedulerPriority) throws(ThreadScheduler.StartError) -> PoolCore {
    try all.withLock { all throws(ThreadScheduler.StartError) in
      if all.first.map({ csched_pool_is_left_behind($0.pool.pool) }) ?? true {
        let pool = try SharedPool()
        all = SchedulerPriority.allCases.map { PoolCore($0, of: pool) }
      }
      return all[SchedulerPriority.allCases.firstIndex(of: priority)!]
    }
  }

  /// Starts the pool, unless it has been.
  static func prepare() throws(ThreadScheduler.StartError) { _ = try started(.default) }

  /// That priority of the present pool. The system may have no thread to give just now: whoever asks first waits for one.
  static func shared(_ priority: SchedulerPriority) -> PoolCore {
    var code: Int32 = 0
    for pause: csched_time in [0, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000] {
      csched_swift_sleep_until_(csched_now() + pause)
      do { return try started(priority) } catch { code = error.code }
    }
    misuse(
      "ConcurrentScheduler.init",
      "the system has no thread for the pool: error \(code). Call ConcurrentScheduler.prepare() before, and handle its error."
    )
  }

  /// How many threads the present pool has.
  static var threads: Int { all.withLock { $0.first.map { csched_pool_live_threads_($0.pool.pool) } ?? 0 } }

  /// Ends the present pool, and waits until its threads are gone. Whoever asks later gets another pool.
  static func shutDown(_ policy: csched_stop_policy) {
    let ending = all.withLock { all in
      defer { all = [] }
      return all
    }
    guard let pool = ending.first?.pool else { return }
    // Held until its threads have ended, or one of those could be the last to let go of it.
    withExtendedLifetime(pool) {
      csched_pool_stop(pool.pool, policy)
      csched_pool_join(pool.pool)
    }
  }
}

/// Owns the core's pool. Its last owner is not one of the pool's threads: they have ended before it is let go of.
private final class SharedPool: @unchecked Sendable {
  // Unchecked, because a pointer is not Sendable; what it points to may be used from any thread.
  let pool: OpaquePointer

  init() throws(ThreadScheduler.StartError) {
    var pool: OpaquePointer?
    let error = "scheduler".withCString { name in
      var options = csched_pool_options()
      options.name = name
      return csched_pool_create(&pool, &options)
    }
    guard let pool, error == 0 else { throw ThreadScheduler.StartError(code: error) }
    self.pool = pool
  }

  deinit { csched_pool_destroy(pool) }  // which does nothing to one that a fork has left behind
}
