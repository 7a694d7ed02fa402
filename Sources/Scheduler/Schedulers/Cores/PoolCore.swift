internal import CScheduler
internal import Synchronization

/// One priority of the pool that everybody shares.
final class PoolCore: TargetCore, @unchecked Sendable {
  // Unchecked, as its superclass is.
  let priority: SchedulerPriority

  fileprivate init(_ priority: SchedulerPriority, of pool: OpaquePointer) {
    self.priority = priority
    super.init(csched_pool_target(pool, priority.core))
  }

  override func makeScheduler() -> any ImmediateSchedulerType & AnyObject {
    ConcurrentScheduler(priority: priority)
  }

  static func shared(_ priority: SchedulerPriority) -> PoolCore {
    SharedPool.orWait().cores[SchedulerPriority.allCases.firstIndex(of: priority)!]
  }

  /// Starts the pool, unless it has been.
  static func prepare() throws(ThreadScheduler.StartError) { _ = try SharedPool.orStart() }
}

/// The pool and its cores. It lives as long as the process; a child of fork makes one of its own.
private final class SharedPool: @unchecked Sendable {
  // Unchecked, because a pointer is not Sendable; what it points to may be used from any thread.
  private let pool: OpaquePointer
  let cores: [PoolCore]

  private init(_ pool: OpaquePointer) {
    self.pool = pool
    cores = SchedulerPriority.allCases.map { PoolCore($0, of: pool) }
  }

  /// The address of the one in use, which is retained for ever; 0 for none. No lock: a fork may come while another thread would hold it.
  private static let current = Atomic<UInt>(0)

  private static func at(_ address: UInt) -> SharedPool? {
    guard let address = UnsafeRawPointer(bitPattern: address) else { return nil }
    let found = Unmanaged<SharedPool>.fromOpaque(address).takeUnretainedValue()
    return csched_pool_is_left_behind(found.pool) ? nil : found
  }

  static func orStart() throws(ThreadScheduler.StartError) -> SharedPool {
    let before = current.load(ordering: .acquiring)
    if let found = at(before) { return found }
    var pool: OpaquePointer?
    let error = "scheduler".withCString { name in
      var options = csched_pool_options()
      options.name = name
      return csched_pool_create(&pool, &options)
    }
    guard let pool, error == 0 else { throw ThreadScheduler.StartError(code: error) }
    let made = Unmanaged.passRetained(SharedPool(pool))
    let (exchanged, first) = current.compareExchange(
      expected: before, desired: UInt(bitPattern: made.toOpaque()), ordering: .acquiringAndReleasing)
    if exchanged { return made.takeUnretainedValue() }
    made.release()
    csched_pool_destroy(pool)
    return at(first)!  // another thread was quicker
  }

  /// The system may have no thread to give just now: whoever asks first waits for one.
  static func orWait() -> SharedPool {
    if let found = at(current.load(ordering: .acquiring)) { return found }
    var code: Int32 = 0
    for pause: csched_time in [0, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000] {
      csched_swift_sleep_until_(csched_now() + pause)
      do { return try orStart() } catch { code = error.code }
    }
    fatalError(
      "ConcurrentScheduler: the system has no thread for the pool: error \(code). Call ConcurrentScheduler.prepare() before, and handle its error."
    )
  }
}
