internal import CScheduler

/// The number of live objects and threads of this module: for leak tests, and for programs that monitor themselves.
///
/// ```swift
/// let before = Diagnostics.live
/// exercise()
/// #expect(Diagnostics.waitUntilEmpty(since: before).isEmpty)
/// ```
///
/// Objects are counted if ``isOn`` is true; threads are always counted. The counts are exact while the module is idle.
/// If other threads create or release objects during the read, a count may be wrong by the number of these changes.
public struct Diagnostics: Hashable, Sendable, CustomStringConvertible {
  /// Submitted actions that wait or run, and disposed actions that are still in a queue. In virtual time, only actions
  /// that wait.
  public var jobs = 0
  /// Closures that actions, disposables and schedulers hold.
  public var closures = 0
  /// Disposables: those created directly, and those that represent an action. Not the result of `schedule(_:)` for a
  /// plain closure, which is a value.
  public var disposables = 0
  /// Threads: those of ``ThreadScheduler``s and of the pool, and the one for the boot and the wall clock. Threads of a
  /// trace, of the watchdog and of dumps by a signal are not counted, so that observing does not change the count.
  public var threads = 0
  /// How many of ``threads`` the pool and the clocks own. They start and end automatically; some run until
  /// ``Schedulers/shutdown(_:)``.
  public var sharedThreads = 0

  /// Creates a value whose counts are 0.
  public init() {}

  /// Whether objects are counted: always in a debug build of this module; in a release build if the environment
  /// variable `SCHEDULER_DIAGNOSTICS` is 1 at the start of the program. It never changes. If it is false, ``live``
  /// counts threads only.
  public static var isOn: Bool { Counted.isOn }

  /// The present counts. Objects count as 0 unless ``isOn`` is true.
  public static var live: Diagnostics {
    var live = Diagnostics()
    live.jobs = Int(csched_counted_sum_(CSCHED_COUNTED_JOBS_))
    live.closures = Int(csched_counted_sum_(CSCHED_COUNTED_CLOSURES_))
    live.disposables = Int(csched_counted_sum_(CSCHED_COUNTED_DISPOSABLES_))
    live.threads = csched_live_threads()
    live.sharedThreads = PoolCore.threads + csched_clocks_threads_()
    return live
  }

  /// Returns the differences from `earlier`. A count is negative if it has decreased.
  ///
  /// - Parameter earlier: an earlier value of ``live``.
  public func since(_ earlier: Diagnostics) -> Diagnostics {
    var difference = Diagnostics()
    for count in [\Self.jobs, \.closures, \.disposables, \.threads, \.sharedThreads] {
      difference[keyPath: count] = self[keyPath: count] - earlier[keyPath: count]
    }
    return difference
  }

  /// Whether all counts are 0, except those of shared threads.
  public var isEmpty: Bool { jobs == 0 && closures == 0 && disposables == 0 && threads == sharedThreads }

  /// Waits until ``isEmpty`` is true of the differences from `earlier`, at most for `timeout`. Returns the remaining
  /// differences.
  ///
  /// Some objects are released shortly after the call that ends them: a thread that is not joined, an action disposed
  /// in a queue, or an object that Dispatch or a task still retains. This function blocks the calling thread, and
  /// checks every millisecond.
  public static func waitUntilEmpty(
    since earlier: Diagnostics = Diagnostics(), timeout: Duration = .seconds(10)
  ) -> Diagnostics {
    let deadline = timeout.deadline
    while true {
      let remaining = live.since(earlier)
      if remaining.isEmpty || csched_now() >= deadline { return remaining }
      csched_swift_sleep_until_(csched_now() + 1_000_000)  // 1 ms
    }
  }

  public var description: String {
    "\(jobs) jobs, \(closures) closures, \(disposables) disposables, "
      + "\(threads) threads (\(sharedThreads) of them shared)"
  }
}
