internal import CScheduler

/// One priority of the pool that everybody shares.
final class PoolCore: TargetCore, @unchecked Sendable {
  // Unchecked, as its superclass is.
  let priority: SchedulerPriority

  private init(_ priority: SchedulerPriority) {
    self.priority = priority
    super.init(csched_pool_target(sharedPool, priority.core))
  }

  override func makeScheduler() -> any ImmediateSchedulerType & AnyObject {
    ConcurrentScheduler(priority: priority)
  }

  private static let all = SchedulerPriority.allCases.map(PoolCore.init)

  static func shared(_ priority: SchedulerPriority) -> PoolCore {
    all[SchedulerPriority.allCases.firstIndex(of: priority)!]
  }
}

/// It lives as long as the process.
private nonisolated(unsafe) let sharedPool: OpaquePointer = {
  var pool: OpaquePointer?
  var error: Int32 = 0
  // The system may have no thread to give just now: whoever asks first waits for one.
  for pause: csched_time in [0, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000] {
    csched_swift_sleep_until_(csched_now() + pause)
    error = "scheduler".withCString { name in
      var options = csched_pool_options()
      options.name = name
      return csched_pool_create(&pool, &options)
    }
    if error == 0 { break }
  }
  guard let pool else { fatalError("ConcurrentScheduler: the system has no thread for the pool: error \(error)") }
  return pool
}()
