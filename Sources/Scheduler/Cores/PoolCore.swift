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

  // MARK: the pools of the process

  // To start a pool, this class and `OwnedPool` use no generic type such as `Protected` or `[PoolCore]`. To make their
  // metadata, the runtime took a third of the time from the start of a program to its first action. In a child of fork
  // it would wait for ever, if another thread made some then.
  private final class Place: @unchecked Sendable {
    // Unchecked: `lock` guards the other variables.
    private let lock = InlineLock()
    private let name: StaticString, maxThreads: Int, isShared: Bool
    // the pool that new submissions use; nil before the first use and after a shutdown
    @exclusivity(unchecked) private var present: OwnedPool?

    init(_ name: StaticString, maxThreads: Int = 0, isShared: Bool = false) {
      (self.name, self.maxThreads, self.isShared) = (name, maxThreads, isShared)
      csched_swift_hold_in_forks_(lock.pointer, false)
    }

    /// Returns `present`; nil in a child of fork that still has the parent's pool there. That pool, which is never
    /// joined, so never freed, serves the job that has called fork.
    private func currentLocked() -> OwnedPool? {
      if let pool = present, csched_pool_is_orphaned(pool.pool) { present = nil }
      return present
    }

    /// Returns the core for `priority` of the present pool. Starts a pool if there is none, as in a child of `fork`.
    @inline(never) func startIfNeeded(_ priority: SchedulerPriority) throws(SchedulerError) -> PoolCore {
      try lock.withLock { () throws(SchedulerError) in
        if currentLocked() == nil {
          present = try OwnedPool(name: name.description, maxThreads: maxThreads, isShared: isShared)
        }
        return present!.core(priority)
      }
    }

    /// The number of threads of the present pool; 0 if there is none.
    var threads: Int { lock.withLock { present.map { csched_pool_live_threads_($0.pool) } ?? 0 } }

    /// Stops the present pool, and waits until its threads have ended.
    func shutDown(_ policy: csched_stop_policy) {
      // removed under the lock; stopped outside it, because its actions may use this object
      let ending = lock.withLock {
        defer { present = nil }  // runs after the return value was read
        return currentLocked()
      }
      guard let ending else { return }
      csched_pool_stop(ending.pool, policy)
      // fails only on a pool thread, where the caller, `Schedulers.shutdown`, stops the process before
      _ = ending.join()
    }
  }

  private static let sharedPlace = Place("scheduler", isShared: true)
  // Their threads never run the users' actions. So the library's own work does not wait for these. 16384: as many
  // threads as the C core permits.
  private static let resumingPlace = Place("csched-resume", maxThreads: 16384)
  private static let waitingPlace = Place("csched-wait", maxThreads: 16384)

  /// Starts the shared pool if there is none.
  static func prepare() throws(SchedulerError) { _ = try sharedPlace.startIfNeeded(.default) }

  /// Returns the core for `priority` of the shared pool, which it starts if needed. If the pool does not start, usually
  /// because the system refuses a thread, tries again after pauses. After the fifth failure, stops the process with a
  /// message.
  static func shared(_ priority: SchedulerPriority) -> PoolCore {
    var refusal: SchedulerError?
    // the pauses before the five tries, in nanoseconds
    for pause: csched_time in [0, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000] {
      csched_swift_sleep_until_(csched_now() + pause)
      do { return try sharedPlace.startIfNeeded(priority) } catch { refusal = error }
    }
    misuse(
      "ConcurrentScheduler.init",
      "the system has no thread for the pool: \(refusal!). Call ConcurrentScheduler.prepare() before, and handle its error."
    )
  }

  /// The pool whose threads resume tasks for threads that may not block: see ``Resumption``. Starts it if needed;
  /// `nil`: the system has no thread.
  static var resuming: PoolCore? { try? resumingPlace.startIfNeeded(.default) }

  /// The pool whose threads wait for tasks, run the tasks for which threads wait, and deliver to custom schedulers.
  /// Starts it if needed; `nil`: the system has no thread.
  static func waiting(_ priority: SchedulerPriority = .default) -> PoolCore? {
    try? waitingPlace.startIfNeeded(priority)
  }

  /// The number of threads of these pools.
  static var threads: Int { sharedPlace.threads + resumingPlace.threads + waitingPlace.threads }

  /// Stops these pools, and waits until their threads have ended. A later use starts a new pool. `policy`: whether
  /// queued jobs of the shared pool run or are dropped. The library's own work runs.
  static func shutDown(_ policy: csched_stop_policy) {
    sharedPlace.shutDown(policy)
    waitingPlace.shutDown(CSCHED_STOP_RUN)
    resumingPlace.shutDown(CSCHED_STOP_RUN)
  }
}

/// Owns a pool of the C core, and one `PoolCore` for each priority. The cores and this object retain each other until
/// `join` has waited for the pool's threads. So a target's unretained `owner` stays valid for these threads, and none
/// of them releases the final reference. Without a `join`, the cores and this object are never freed.
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
