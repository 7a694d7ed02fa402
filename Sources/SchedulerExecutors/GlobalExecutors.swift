internal import Scheduler

/// Runs all tasks of the program on this library's threads: the shared pool and the main loop replace Swift's own
/// executors.
///
/// ```swift
/// @main struct Program {
///   static func main() throws {
///     try GlobalExecutors.install()  // first of all
///     Task { … }
///     MainScheduler.run()
///   }
/// }
/// ```
///
/// A program whose `main` is `async` has created a task before its first line. It links the product
/// `SchedulerExecutorsLinked`, which installs the executors before `main`, and changes nothing else.
///
/// 1. The pool runs every task and actor without its own executor, with the threads and rules of `ConcurrentScheduler`.
///    While a task is in `ConcurrentScheduler.withReplacementThread(_:)`, another thread replaces its thread. A task's
///    priority is mapped by the table of `SchedulerPriority(_:)`.
/// 2. The main actor runs on the main loop, always on the main thread, in one order with the actions of
///    `MainScheduler`. In a program with an `async` main the loop runs until the program ends; `MainScheduler.stop()`
///    ends your own calls of
///    `MainScheduler.run()`, but not this run of the loop.
/// 3. `Task.sleep` and the sleeps of Swift's clocks use this library's timers: never early, and with their tolerance.
///    `ContinuousClock`
///    includes the time when the system sleeps.
/// 4. The main loop also runs the blocks that are submitted to Dispatch's main queue. While the program does not run
///    the main loop, and another library runs the main queue (`RunLoop.main.run()`, `dispatchMain()`, the runner of an
///    XCTest), the main queue runs the main loop's work. With `MainScheduler.useDispatchMain()` the two share one
///    order.
/// 5. `Schedulers.shutdown(_:)` and the C function `csched_shutdown` stop the process with a message, because a
///    shutdown would leave tasks without a thread.
///
/// It works with Swift 6.3 on Linux only, because it uses interfaces that Swift 6.3 calls experimental. Elsewhere
/// ``isAvailable`` is false, and ``install()`` throws.
public enum GlobalExecutors {
  /// The reason why nothing was installed.
  public enum InstallError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A task was created before, so Swift's own executors may be in use. They stay.
    case late
    /// The compiler is not Swift 6.3, or the system is not Linux. Swift's own executors stay.
    case unavailable

    public var description: String {
      switch self {
      case .late:
        """
        GlobalExecutors.install: a task has been made before, and Swift's own executors stay. Call it first in a main that is not async, or link \
        SchedulerExecutorsLinked, which installs them before main.
        """
      case .unavailable:
        """
        GlobalExecutors.install: not available here, and Swift's own executors stay. It needs Swift 6.3 on Linux. Tasks can prefer a scheduler: \
        Task(executorPreference:).
        """
      }
    }
  }

  /// The number of jobs received. A job is the part of a task between two suspensions.
  public struct Jobs: Hashable, Sendable {
    /// Jobs for the pool.
    public var onPool = 0
    /// Jobs for the main actor.
    public var onMain = 0
    /// Delayed jobs for the pool or the main actor: sleeps.
    public var delayed = 0

    /// Creates counts of zero.
    public init() {}
  }

  /// Whether this build can replace Swift's own executors: with Swift 6.3, on Linux.
  public static var isAvailable: Bool { Executors.areAvailable }

  /// Whether the executors are installed.
  public static var isInstalled: Bool { GlobalJobs.isInstalled }

  /// How many jobs were received so far. Counted only if `Diagnostics.isOn`; otherwise 0. A nonzero count proves that
  /// jobs run here.
  public static var jobs: Jobs {
    let counts = GlobalJobs.counts.read()
    var jobs = Jobs()
    (jobs.onPool, jobs.onMain, jobs.delayed) = (counts.onPool, counts.onMain, counts.delayed)
    return jobs
  }

  /// Makes the shared pool and the main loop run all tasks of the program from now on. Once installed, a further call
  /// does nothing.
  ///
  /// Call it on the main thread, before the first task is created; on another thread it stops the process with a
  /// message. A `main` that is not `async` then runs the main loop, and so the main actor, with `MainScheduler.run()`,
  /// `RunLoop.main.run()` or `dispatchMain()`.
  ///
  /// - Throws: ``InstallError/late`` if a task was created before; ``InstallError/unavailable``. In both cases nothing
  ///   has changed.
  public static func install() throws(InstallError) {
    guard isAvailable else { throw .unavailable }
    if isInstalled { return }
    guard Executors.noTaskWasMade else { throw .late }  // this check creates a task itself
    guard GlobalJobs.isOnMain else {
      misuse("GlobalExecutors.install", "called on another thread. Call it on the main thread, before the first task.")
    }
    Executors.install()
    GlobalJobs.install()  // sets `isInstalled`, and forbids the shutdown of the pool and the main loop
  }
}

/// Installs the executors. `SchedulerExecutorsLinked` calls it before `main`. Returns whether this build can replace
/// Swift's own executors.
@_cdecl("csched_executors_install_linked_")
func installLinked() -> Bool {
  do { try GlobalExecutors.install() } catch {
    if error == .late { misuse("SchedulerExecutorsLinked", "\(error)") }  // .unavailable: the result reports it
  }
  return GlobalExecutors.isAvailable
}
