internal import CScheduler

/// Runs its actions on the main thread.
///
/// ```swift
/// MainScheduler.instance.schedule { label.text = "ready" }   // at once if called on the main thread and no work waits
/// MainScheduler.asyncInstance.schedule { layout() }          // never at once
/// MainScheduler.run()                                        // a program without another main loop
/// ```
///
/// 1. ``instance`` runs an action at once if it is scheduled on the main thread and no work waits or runs there.
///    Otherwise it queues the action.
///    All work of the main thread counts: actions of both instances, delayed ones, ticks, queues on them, C jobs.
///    ``asyncInstance`` always queues.
/// 2. Both instances, and all submitters, share one order: no action overtakes an earlier one. A queue on the main
///    scheduler takes one position in this order. It runs several of its actions there.
/// 3. The main thread must run the actions: by ``run()``, ``run(until:)`` or ``runUntilIdle()``; by Dispatch's or
///    Foundation's main loop, after `useDispatchMain()` of the module `SchedulerDispatch`; in another library's loop
///    (``hostedDescriptor()``, ``runReady()``); or, if `main` is `async`, by linking `SchedulerExecutorsLinked`.
/// 4. If the process ends and the main loop has not run since actions were scheduled, a line on the standard error says
///    how many actions never ran. The number counts queued actions; a queue on the main scheduler counts as one. If the
///    loop never ran, delayed actions count too. ``Schedulers/onDrop(_:)`` reports each of these actions as
///    ``SchedulerError/stopped``. Their closures are not released.
///    A line also says, once, that work has waited for two seconds while nothing ran the main loop and the main thread
///    slept. Another one says that jobs of the main actor wait in Dispatch's main queue, while ``run()`` has the main
///    thread, and this library's executors are not installed.
/// 5. The line of guarantee 4 is not printed if the process ends inside a run, after a run that ``stop()`` has ended,
///    after ``Schedulers/shutdown(_:)``, while a host runs the loop, or by `_exit`, `abort` or a signal.
public final class MainScheduler: LoopScheduler, @unchecked Sendable {
  // Unchecked, as its superclass is.
  /// The instance that runs an action at once if possible, and otherwise when the main thread runs the main loop.
  ///
  /// Queued actions run only if the main loop runs. A program without another main loop calls ``MainScheduler/run()``
  /// on the main thread. For other programs see `Documentation/HowTo/EmbedInAnotherLoop.md`.
  public static let instance: MainScheduler = MainScheduler(marker: nil)
  /// The instance that always queues. Its actions run when the main thread runs the main loop: see ``instance``.
  public static let asyncInstance: MainScheduler = MainScheduler(
    marker: SchedulerMarker(madeBy: { _ in MainScheduler.asyncInstance }))

  /// Counts this instance's actions that wait or run, for `runsAtOnce`; `nil`: all work on the main thread counts.
  private let ownWork: OwnWork?

  /// `marker`: makes `Schedulers.current` return this instance; nil: the instance of the core itself.
  private init(marker: SchedulerMarker?, ownWork: OwnWork? = nil) {
    self.ownWork = ownWork
    super.init(core: MainCore.shared, marker: marker)
  }

  /// For the module with RxSwift's names: runs an action at once if none of this scheduler's own actions waits or runs.
  /// Other work does not count.
  package convenience init(countsOwnWork: Void) {
    // `Schedulers.current` returns the first scheduler that is created on a core. This instance must not be the first.
    _ = MainScheduler.instance
    self.init(marker: nil, ownWork: OwnWork())
  }

  // MARK: scheduling

  @discardableResult
  public override func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    let entry = ownWork?.enter()  // counts the action while the entry exists; nil: not counted
    guard runsAtOnce(entry) else {
      guard let entry else { return super.schedule(action) }  // queues the action
      return super.schedule { withExtendedLifetime(entry, action) }  // `entry` lives until the run or the drop
    }
    withExtendedLifetime(entry) { core.run(action) }
    return NopDisposable()  // the action has run
  }

  package override func submit(_ work: @escaping @Sendable () -> Void, of chain: ReturningAction) {
    let entry = ownWork?.enter()  // as in `schedule` above
    if runsAtOnce(entry) {
      withExtendedLifetime(entry) { core.run(work) }
    } else if let entry {
      super.submit({ withExtendedLifetime(entry, work) }, of: chain)
    } else {
      super.submit(work, of: chain)
    }
  }

  /// Whether an action that is scheduled now runs at once, on this thread. `entry`: the action's entry in `ownWork`.
  private func runsAtOnce(_ entry: OwnWork.Entry?) -> Bool {
    if let entry { return entry.isFirst && MainCore.isOnThread }  // isOnThread: this is the main thread
    return marker == nil && MainCore.isFree  // `asyncInstance` has a marker; isFree: no work waits or runs
  }

  // MARK: running

  /// Whether the caller runs on the process's main thread, or on the thread on which a host runs the main scheduler.
  public var isOnThread: Bool { MainCore.isOnThread }

  /// Runs actions until ``stop()``. On the main thread only. Calls may be nested.
  public static func run() {
    _ = MainCore.shared.run("run", until: csched_time.max)
    MainCore.endExclusionIfClosed()  // late jobs of a closed loop may now run on the pool
  }

  /// Runs actions until `instant`, or until ``stop()``. Returns whether it was stopped.
  @discardableResult
  public static func run(until instant: MonotonicTime) -> Bool {
    let result = MainCore.shared.run("run(until:)", until: instant.nanoseconds)
    if result == CSCHED_RUN_CLOSED { MainCore.endExclusionIfClosed() }  // as in `run()`
    return result == CSCHED_RUN_ENDED
  }

  /// Runs ready actions, and actions that these make ready, without waiting. Returns how many actions ran.
  @discardableResult
  public static func runUntilIdle() -> Int {
    MainCore.shared.requireMainThread("runUntilIdle")
    var count = 0
    // Each call runs at most 1 024 actions; repeated until no action is ready.
    while case let more = csched_loop_run_ready(MainCore.shared.loop, 1_024), more > 0 { count += more }
    MainCore.endExclusionIfClosed()
    return count
  }

  /// Ends the innermost ``run()`` or ``run(until:)``. If none is running, ends the next one. Thread: any.
  public static func stop() { csched_loop_end_run(MainCore.shared.loop) }

  // MARK: hosts

  /// For `SchedulerExecutors`: runs ready work. When ``hostDescriptor()`` is readable, on the host's main thread.
  package static func runReadyInHost() { MainCore.shared.runReadyInHost() }

  /// For `SchedulerExecutors`: calls `body` with the loop attached to this thread, the host's main thread.
  package static func attached(_ body: () -> Void) { MainCore.shared.withLoopAttached { _ in body() } }

  /// For `SchedulerDispatch`: registers a host, which must call each closure that it receives, in order, on the main
  /// thread. Returns false, and does nothing, if there is a host already. Thread: any.
  package static func enter(_ host: @escaping @Sendable (_ work: @escaping @Sendable () -> Void) -> Void) -> Bool {
    MainCore.shared.enter(host)
  }

  /// For `SchedulerDispatch`: returns a descriptor, and 0 or an errno value. When it is readable, call
  /// ``runDueInHost()``. On the host's main thread.
  package static func hostDescriptor() -> (descriptor: Int32, error: Int32) {
    MainCore.shared.withLoopAttached {  // csched_loop_fd may be called on the loop's thread only
      var descriptor: Int32 = -1
      let error = csched_loop_fd($0, &descriptor)
      if error == 0 { MainCore.shared.setHosted() }
      return (descriptor, error)
    }
  }

  /// For `SchedulerDispatch`: runs the delayed actions that are due. On the host's main thread.
  package static func runDueInHost() { MainCore.shared.runDueTimers() }
}

/// Counts the actions of one scheduler that wait or run: one `Entry` exists for each.
private final class OwnWork: Sendable {
  private let count = Protected(0)

  /// One counted action: from `init` to `deinit`.
  final class Entry: Sendable {
    private let work: OwnWork
    let isFirst: Bool  // no other counted action waited or ran when this one was scheduled

    fileprivate init(_ work: OwnWork) {
      self.work = work
      isFirst = work.count.withLock { count in
        count += 1
        return count == 1
      }
    }

    deinit { work.count.withLock { $0 -= 1 } }
  }

  /// Counts an action as long as the result exists.
  func enter() -> Entry { Entry(self) }
}
