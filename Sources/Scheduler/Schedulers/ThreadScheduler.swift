internal import CScheduler

/// Runs all its actions on its own thread, which stays alive between them. Use it for state that is confined to one
/// thread.
///
/// ```swift
/// let database = try ThreadScheduler(name: "database")
/// database.schedule { open("notes.db") }        // opened here …
/// let query = database.schedule { search("a") }  // … used here: always the same thread
/// query.dispose()                                // the search never starts, if it has not started yet
/// database.stop()
/// database.join()
/// ```
///
/// 1. Actions run one at a time, in the order of submission. Delayed actions run in the order of their deadlines.
/// 2. An idle thread sleeps, without wakeups.
/// 3. The thread ends by ``stop(_:)``, or when the last reference is released and no delayed action is pending. Work
///    submitted earlier runs first.
/// 4. After ``stop(_:)`` an action is refused: it is released at once, and its disposable reports that it is disposed.
///    ``trySchedule(_:)`` throws.
public final class ThreadScheduler: LoopScheduler, @unchecked Sendable {
  // Unchecked, as its superclass is.
  let thread: ThreadCore

  /// Starts a thread, and returns when it is ready. It begins with the signal mask of the main thread, also if a task
  /// starts it.
  ///
  /// - Parameters:
  ///   - name: the name in the system's tools, cut at 15 bytes, never inside a UTF-8 character.
  ///   - stackSize: the stack size in bytes; 0 is the system's default.
  ///   - lateJobs: how to treat a task that continues here after the thread has ended.
  ///   - processors: the processors on which the thread may run, numbered from 0 as in the system's tools. If empty,
  ///     those of the creating thread.
  ///   - priority: how the system schedules the thread.
  /// - Throws: ``SchedulerError/system(_:)`` if no thread can be created, or it cannot have these processors or this
  ///   priority.
  public convenience init(
    name: String = "", stackSize: Int = 0, lateJobs: ThreadScheduler.LateJobPolicy = .runOnPool, processors: [Int] = [],
    priority: ThreadScheduler.Priority = .inherited
  ) throws(SchedulerError) {
    self.init(
      core: try ThreadCore(
        name: name, stackSize: max(0, stackSize), lateJobs: lateJobs, processors: processors, priority: priority))
  }

  init(core: ThreadCore) {
    thread = core
    core.use()  // counts this scheduler as a user of the thread
    super.init(core: core)
  }

  deinit { thread.endUse() }  // ends the `use`; without users (schedulers, delayed actions) the thread stops

  // MARK: scheduling

  /// Schedules `action`, or throws ``SchedulerError/stopped`` if the thread has been stopped.
  ///
  /// - Parameter action: the work to run. It is released, with its captures, when it has run, is disposed, or is
  ///   dropped.
  @discardableResult
  public func trySchedule(_ action: @escaping @Sendable () -> Void) throws(SchedulerError) -> any Disposable {
    // `callerReportsRefusal`: the thrown error reports a refusal, so a debug build prints no line about it.
    let (action, isAccepted) = core.submit(action, callerReportsRefusal: true)
    guard isAccepted else { throw SchedulerError.stopped }
    return action  // the task, whose disposal cancels the closure
  }

  // MARK: the thread

  /// The scheduler's full name.
  public var name: String { thread.name }

  /// Stops the thread after the outstanding actions have been handled as `policy` says. Does not wait: see ``join()``.
  ///
  /// May be called on any thread, its own included, any number of times. `.dropOutstanding` after `.runOutstanding`
  /// drops the remaining actions.
  ///
  /// - Parameter policy: how to treat actions that have not started.
  public func stop(_ policy: Schedulers.StopPolicy = .runOutstanding) { thread.stop(policy) }

  /// Waits until the thread has ended. Without a ``stop(_:)``, it waits for ever. Several threads may wait. On the
  /// scheduler's own thread the wait could never end, so it stops the process with a message.
  @available(*, noasync, message: "it blocks a thread of Swift's own: use await stopAndJoin()")
  public func join() { joinBlocking() }

  /// As ``join()``, for async functions that know that the wait is short.
  func joinBlocking() {
    if thread.isOnThread || csched_thread_join(thread.thread) != 0 {  // EDEADLK, its only error: on the thread itself
      misuse(
        "ThreadScheduler.join", of: thread.name,
        "called on the scheduler's own thread, which cannot wait for its own end. Join from another thread.")
    }
  }

  /// Whether the caller runs on this scheduler's thread.
  public var isOnThread: Bool { thread.isOnThread }

  /// Stops the process with a message unless the caller runs on this scheduler's thread.
  public func preconditionOnThread() {
    if !isOnThread {
      misuse(
        "ThreadScheduler.preconditionOnThread", of: thread.name,
        "called on another thread. Schedule the work on this scheduler.")
    }
  }
}

extension ThreadScheduler {
  /// How the system schedules the thread of a ``ThreadScheduler``:
  /// ``ThreadScheduler/init(name:stackSize:lateJobs:processors:priority:)``.
  ///
  /// If the process may not have the priority, `init` throws ``SchedulerError/system(_:)``; no thread remains. Darwin
  /// refuses all but ``inherited``.
  public enum Priority: Hashable, Sendable {
    /// The priority of the thread that creates the scheduler.
    case inherited
    /// A nice value from -20 to 19. A higher value gets less processor time. A value below that of the process needs a
    /// permission (`RLIMIT_NICE`).
    case nice(Int)
    /// Real time, from 1 to 99 on Linux. Until it sleeps, the thread runs before all others without real time. Needs a
    /// permission (`RLIMIT_RTPRIO`).
    case firstInFirstOut(Int)
    /// As ``firstInFirstOut(_:)``, but in turn with threads of equal priority.
    case roundRobin(Int)

    /// The C core's policy and priority.
    var core: (policy: csched_thread_policy, priority: Int32) {
      switch self {
      case .inherited: (CSCHED_POLICY_DEFAULT, 0)
      case .nice(let value): (CSCHED_POLICY_NICE, Int32(clamping: value))
      case .firstInFirstOut(let value): (CSCHED_POLICY_FIFO, Int32(clamping: value))
      case .roundRobin(let value): (CSCHED_POLICY_ROUND_ROBIN, Int32(clamping: value))
      }
    }
  }
}
