internal import CScheduler

/// Runs all its actions on one thread of its own, which stays alive between them: the home for what is confined to one thread.
///
/// ```swift
/// let database = try ThreadScheduler(name: "database")
/// database.schedule { open("notes.db") }        // opened here …
/// let query = database.schedule { search("a") }  // … used here: always the same thread
/// query.dispose()                                // if it has not begun, it never will
/// database.stop()
/// database.join()
/// ```
///
/// 1. Actions run one after the other, in the order of their submission; delayed ones in the order of their deadlines.
/// 2. An idle thread sleeps, with no wakeups.
/// 3. The thread ends by ``stop(_:)``, or when the last reference is gone and no delayed action is pending. What was submitted
///    before runs first.
/// 4. After ``stop(_:)`` an action is refused: it is released at once, and the disposable returned says that it is disposed.
///    ``trySchedule(_:)`` throws instead.
public final class ThreadScheduler: LoopScheduler, @unchecked Sendable {
  // Unchecked, as its superclass is.
  let thread: ThreadCore

  /// Starts a thread, and returns when it is ready.
  ///
  /// - Parameters:
  ///   - name: shown by the system's tools, cut at 15 bytes, never inside a character's UTF-8.
  ///   - stackSize: in bytes; 0 is the system's default.
  ///   - lateJobs: what becomes of a task that goes on here when the thread has ended.
  ///   - processors: the numbers of those that the thread may run on, from 0 on, as the system's tools give them; none: as the thread that starts it.
  ///   - priority: how the system chooses it.
  /// - Throws: ``SchedulerError/system(_:)`` when there is no thread to be had, or not with these processors and this priority.
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
    core.use()
    super.init(core: core)
  }

  deinit { thread.letGo() }

  // MARK: scheduling

  /// Schedules `action`, or throws when the thread has been stopped.
  ///
  /// - Parameter action: what to run. It is released, with its captures, when it has run, is disposed, or is dropped.
  @discardableResult
  public func trySchedule(_ action: @escaping @Sendable () -> Void) throws(SchedulerError) -> any Disposable {
    let (action, isAccepted) = core.submit(action, isTold: true)
    guard isAccepted else { throw SchedulerError.stopped }
    return action
  }

  // MARK: the thread

  /// What it was called, uncut.
  public var name: String { thread.name }

  /// Ends the thread after the outstanding actions have got what `policy` says. Does not wait: see ``join()``.
  ///
  /// May be called on any thread, its own included, any number of times; `.dropOutstanding` after `.runOutstanding` drops what is left.
  ///
  /// - Parameter policy: what becomes of the actions that have not begun.
  public func stop(_ policy: Schedulers.StopPolicy = .runOutstanding) { thread.stop(policy) }

  /// Waits until the thread has ended. Without a stop before or meanwhile that is for ever. Several threads may wait. On the
  /// thread itself the wait could never end: that stops the process with a message.
  @available(*, noasync, message: "it blocks a thread of Swift's own: use await stopAndJoin()")
  public func join() { joinBlocking() }

  func joinBlocking() {
    if thread.isHere || csched_thread_join(thread.thread) != 0 {
      misuse(
        "ThreadScheduler.join", of: thread.name,
        "called on the scheduler's own thread, which cannot wait for its own end. Join from another thread.")
    }
  }

  /// Whether the caller runs on this scheduler's thread.
  public var isOnThread: Bool { thread.isHere }

  /// Stops the process with a message unless the caller runs on this scheduler's thread.
  public func preconditionOnThread() {
    if !isOnThread {
      misuse(
        "ThreadScheduler.preconditionOnThread", of: thread.name,
        "called on another thread. Schedule the work on this scheduler.")
    }
  }
}
