internal import CScheduler

/// How many things of this module are alive: for tests that nothing is left behind, and for a program that looks at itself.
///
/// ```swift
/// let before = Diagnostics.live
/// exercise()
/// #expect(Diagnostics.waitUntilEmpty(since: before).isEmpty)
/// ```
///
/// Objects are counted when ``isOn`` says so, threads always. The counts are exact when nothing of the module is going on; while other
/// threads make and let go of things, each count may be off by what happens during the look.
public struct Diagnostics: Hashable, Sendable, CustomStringConvertible {
  /// Actions that were submitted and wait, run, or were disposed and lie in a queue that has not come past them yet. In virtual time,
  /// those that wait.
  public var jobs = 0
  /// Closures that actions, disposables and schedulers hold.
  public var closures = 0
  /// Disposables: those that were made as such, and those that stand for an action. What `schedule(_:)` returns for a plain closure is a
  /// value, and is not counted.
  public var disposables = 0
  /// Threads: of ``ThreadScheduler``s, of the pool, and the one that keeps the time of the boot and the wall clock. Those of a trace, of the
  /// watchdog and of dumps by a signal are not counted: who observes changes nothing of what is seen.
  public var threads = 0
  /// How many of ``threads`` everybody shares: the pool's, and the clocks'. They come and go by themselves, and some stay until
  /// ``Schedulers/shutdown(_:)``.
  public var sharedThreads = 0

  /// Makes one of nothing.
  public init() {}

  /// Whether objects are counted: in a debug build of this module always; in a release build if the environment variable
  /// `SCHEDULER_DIAGNOSTICS` is 1 when the program starts. It never changes. When it is false, ``live`` counts threads only.
  public static var isOn: Bool { Counted.isOn }

  /// What is alive now.
  public static var live: Diagnostics {
    var live = Diagnostics()
    live.jobs = Int(csched_counted_sum_(CSCHED_COUNTED_JOBS_))
    live.closures = Int(csched_counted_sum_(CSCHED_COUNTED_CLOSURES_))
    live.disposables = Int(csched_counted_sum_(CSCHED_COUNTED_DISPOSABLES_))
    live.threads = csched_live_threads()
    live.sharedThreads = PoolCore.threads + csched_clocks_threads_()
    return live
  }

  /// What has come since `earlier`; less than nothing of what has gone.
  ///
  /// - Parameter earlier: what ``live`` said before.
  public func since(_ earlier: Diagnostics) -> Diagnostics {
    var difference = Diagnostics()
    for count in [\Self.jobs, \.closures, \.disposables, \.threads, \.sharedThreads] {
      difference[keyPath: count] = self[keyPath: count] - earlier[keyPath: count]
    }
    return difference
  }

  /// Whether there is nothing, the shared threads aside.
  public var isEmpty: Bool { jobs == 0 && closures == 0 && disposables == 0 && threads == sharedThreads }

  /// Waits until nothing is left of what has come since `earlier`, for `timeout` at the most. Returns what is left then.
  ///
  /// Much ends a little later than the call that ends it: a thread that nobody joins, an action that was disposed in the middle of a
  /// queue, what Dispatch or a task still holds. It blocks the calling thread, and looks every millisecond.
  public static func waitUntilEmpty(
    since earlier: Diagnostics = Diagnostics(), timeout: Duration = .seconds(10)
  ) -> Diagnostics {
    let deadline = timeout.deadline
    while true {
      let left = live.since(earlier)
      if left.isEmpty || csched_now() >= deadline { return left }
      csched_swift_sleep_until_(csched_now() + 1_000_000)
    }
  }

  public var description: String {
    "\(jobs) jobs, \(closures) closures, \(disposables) disposables, "
      + "\(threads) threads (\(sharedThreads) of them shared)"
  }
}
