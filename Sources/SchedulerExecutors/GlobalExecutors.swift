internal import Scheduler

/// The whole program's tasks on this library's threads: instead of Swift's own executors, the shared pool and the main loop run them.
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
/// A program whose `main` is `async` has made a task before its first line. It links the product `SchedulerExecutorsLinked`, which installs them
/// before `main`, and changes nothing else.
///
/// 1. The pool runs every task and actor that has no executor of its own: `ConcurrentScheduler`'s threads and rules, so that a task in
///    `ConcurrentScheduler.withReplacementThread(_:)` takes no thread from the others. A task's priority counts, by the table of
///    `SchedulerPriority(_:)`.
/// 2. The main actor is on the main loop, in one order with the actions of `MainScheduler`, always on the main thread. In an `async` main program
///    that loop runs as long as the program does; `MainScheduler.stop()` ends only runs of one's own.
/// 3. `Task.sleep` and the sleeps of Swift's clocks are the core's timers: never early, and with their tolerance. `ContinuousClock` counts the system's
///    sleep.
/// 4. What is submitted to Dispatch's main queue runs in the main loop, whenever that runs.
/// 5. `Schedulers.shutdown(_:)` would leave tasks without a thread: it stops the process with a message; so does `csched_shutdown`.
///
/// It uses what Swift 6.3 calls experimental, on Linux: see ``isAvailable``.
public enum GlobalExecutors {
  /// Why nothing was installed.
  public enum InstallError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A task has been made before, so Swift's own executors may be in use. They stay.
    case late
    /// Another compiler than Swift 6.3's, or another system than Linux: Swift's own executors stay.
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

  /// How many jobs have come: pieces of tasks, each from one suspension to the next.
  public struct Jobs: Hashable, Sendable {
    /// To the pool.
    public var onPool = 0
    /// To the main actor.
    public var onMain = 0
    /// Of both, for later: sleeps.
    public var delayed = 0

    /// Makes one of none.
    public init() {}
  }

  /// Whether this build of the module can do it: with Swift 6.3, on Linux.
  public static var isAvailable: Bool { Executors.areAvailable }

  /// Whether it has been done.
  public static var isInstalled: Bool { GlobalJobs.isInstalled }

  /// How many jobs have come so far; counted where `Diagnostics.isOn`, else 0. A program that runs does not prove that they come here.
  public static var jobs: Jobs {
    let counts = GlobalJobs.counts.read()
    var jobs = Jobs()
    (jobs.onPool, jobs.onMain, jobs.delayed) = (counts.onPool, counts.onMain, counts.delayed)
    return jobs
  }

  /// Has the shared pool and the main loop run all tasks of the program from now on. Once installed, a further call does nothing.
  ///
  /// On the main thread (on another one it stops the process with a message), before the first task is made. A `main` that is not `async` then runs the main loop, and so the main actor, by
  /// `MainScheduler.run()`; one that ends in `dispatchMain()` or `RunLoop.main.run()` calls `MainScheduler.useDispatchMain()` before that.
  ///
  /// - Throws: ``InstallError/late`` when a task has been made before; ``InstallError/unavailable``. Then nothing has changed.
  public static func install() throws(InstallError) {
    guard isAvailable else { throw .unavailable }
    if isInstalled { return }
    guard Executors.noTaskWasMade else { throw .late }
    guard GlobalJobs.isOnMain else {
      misuse("GlobalExecutors.install", "called on another thread. Call it on the main thread, before the first task.")
    }
    Executors.install()
    GlobalJobs.install()
  }
}

/// For `SchedulerExecutorsLinked`, before `main`. Returns whether this build of the module can do it.
@_cdecl("csched_executors_install_linked_")
func installLinked() -> Bool {
  do { try GlobalExecutors.install() } catch {
    if error == .late { misuse("SchedulerExecutorsLinked", "\(error)") }
  }
  return GlobalExecutors.isAvailable
}
