// Implements Swift's own executors with the shared pool and the main loop.
//
// Invariants
//   GJ1  A thread that loads a pool from `currentPool` sees the pool's schedulers complete. In a fork child the first
//        caller makes a new pool.
// Orderings: currentPool: the release in `makePool`, which publishes the schedulers, pairs with the acquire in `pool`
// Models: none. Not modelled: GJ1. Not tested: GJ1, but by the run "fork" of Tests/Integration/AllTasks.

internal import CScheduler
internal import Synchronization

/// Implements Swift's own executors for the module `SchedulerExecutors`. The shared pool runs tasks and actors without
/// an executor of their own. The main loop runs the main actor.
package enum GlobalJobs {
  /// The number of jobs enqueued so far. Counted only if `Diagnostics.isOn`.
  package static let counts = Protected((onPool: 0, onMain: 0, delayed: 0)).heldInForks()

  /// Whether these executors are installed as Swift's own. From then on the pool and the main loop cannot be shut down.
  package static var isInstalled: Bool { csched_main_loop_is_kept_() }

  /// Forbids the shutdown of the pool and the main loop. Called when the executors are installed.
  package static func install() { csched_main_loop_keep_() }

  /// Submits `job` to the pool, with the task's priority.
  package static func enqueue(_ job: UnownedJob, priority: UInt8) {
    if Counted.isOn { counts.withLock { $0.onPool += 1 } }
    TaskJob(job, on: pool(priority), .ofGlobal).submitGlobalJob()
  }

  /// Submits `job` to the main loop, isolated to the main actor.
  package static func enqueueOnMain(_ job: UnownedJob) {
    if Counted.isOn { counts.withLock { $0.onMain += 1 } }
    TaskJob(job, on: MainScheduler.instance, .ofMainActor).submit()
  }

  /// Submits `job` to the pool, to run at `instant` of the monotonic clock, or up to `tolerance` later.
  package static func enqueue(_ job: UnownedJob, priority: UInt8, at instant: MonotonicTime, tolerance: Duration) {
    submit(TaskJob(job, on: pool(priority), .ofGlobal), at: instant.nanoseconds, CSCHED_CLOCK_MONOTONIC, tolerance)
  }

  /// Submits `job` to the pool, to run at `nanoseconds` of the boot clock, which counts system sleep, or up to
  /// `tolerance` later.
  package static func enqueue(
    _ job: UnownedJob, priority: UInt8, continuous nanoseconds: UInt64, tolerance: Duration
  ) {
    submit(TaskJob(job, on: pool(priority), .ofGlobal), at: nanoseconds, CSCHED_CLOCK_BOOT, tolerance)
  }

  /// Submits `job` to the main loop, isolated to the main actor, to run at `instant` of the monotonic clock, or up to
  /// `tolerance` later.
  package static func enqueueOnMain(_ job: UnownedJob, at instant: MonotonicTime, tolerance: Duration) {
    submit(
      TaskJob(job, on: MainScheduler.instance, .ofMainActor), at: instant.nanoseconds, CSCHED_CLOCK_MONOTONIC, tolerance
    )
  }

  /// As the function above, at `nanoseconds` of the boot clock, which counts system sleep.
  package static func enqueueOnMain(_ job: UnownedJob, continuous nanoseconds: UInt64, tolerance: Duration) {
    submit(
      TaskJob(job, on: MainScheduler.instance, .ofMainActor), at: nanoseconds, CSCHED_CLOCK_BOOT, tolerance)
  }

  // Counts and submits a delayed job, to run at `time` of `clock`.
  private static func submit(_ job: TaskJob, at time: csched_time, _ clock: csched_clock, _ tolerance: Duration) {
    if Counted.isOn { counts.withLock { $0.delayed += 1 } }
    job.submit(at: time, on: clock, tolerance: tolerance)
  }

  // MARK: Main loop

  /// Whether the caller is isolated to the main actor.
  package static var isOnMain: Bool { MainCore.isOnThread }

  /// Stops the process with a message unless the caller is isolated to the main actor.
  package static func requireMainThread() { MainScheduler.instance.requireIsolated() }

  /// Whether the program runs the main loop now. On the main loop's thread.
  package static var isRunningMain: Bool { MainCore.shared.isRunning }

  /// Calls `observer` from now on: with true before the program's outermost run of the main loop, with false after it.
  /// On the main thread, once.
  package static func observeMainRuns(_ observer: @escaping (_ isRunning: Bool) -> Void) {
    MainCore.shared.observeRuns(by: observer)
  }

  /// Whether another library's main loop, the host, runs the main loop of this library.
  package static var isHosted: Bool { csched_main_loop_is_hosted_() }

  // isStopRequested: set by `stopMain`, reset by `runMain`. hasRun: `runMain` was called.
  private static let isStopRequested = Protected(false).heldInForks(), hasRun = Protected(false).heldInForks()

  /// Whether ``runMain()`` has been called. If so, no other library may host the main loop.
  static var hasRunMain: Bool { hasRun.read() }

  /// Runs the main loop until ``stopMain()``. A call of `MainScheduler.stop` also ends the C loop's run: then the loop
  /// is run again.
  package static func runMain() {
    MainCore.shared.run("run") { loop in
      hasRun.write(true)
      while !isStopRequested.exchange(false) {
        // a run of a closed loop returns at once, so this `while` would spin
        if csched_loop_run(loop) == CSCHED_RUN_CLOSED { stopForClosedLoop() }
      }
    }
  }

  /// Runs the main loop until `condition` holds. The condition is checked first, and again after each job.
  package static func runMain(until condition: () -> Bool) {
    MainCore.shared.run("run") { loop in
      while !condition() { _ = csched_loop_run_once(loop, csched_time.max) }  // no time limit
    }
  }

  /// Ends the current call of ``runMain()``. If there is none, the next call returns at once.
  package static func stopMain() {
    isStopRequested.write(true)
    MainScheduler.stop()
  }

  /// Stops the process with a message: the main actor's loop runs no job any more.
  private static func stopForClosedLoop() -> Never {
    misuse(
      "MainActor",
      "the main loop was closed, which runs the main actor. Leave csched_loop_close(csched_main_loop()) out.")
  }

  // MARK: Pool

  /// The shared pool's schedulers, one for each priority. Retained once and never released: a job then needs no retain,
  /// which weak references slow.
  private final class Pool: Sendable {
    private let core = PoolCore.shared(.default)
    private let high = make(.high), medium = make(.default), low = make(.low), background = make(.background)

    private static func make(_ priority: SchedulerPriority) -> Unmanaged<SchedulerTarget> {
      .passRetained(ConcurrentScheduler(core: PoolCore.shared(priority)))
    }

    /// Whether this process is a fork child, without the pool's threads.
    var isOrphaned: Bool { core.isOrphaned }

    /// Returns the scheduler for a task's raw priority, by the table of `SchedulerPriority(_:)`; 0, no priority, counts
    /// as the default.
    @inline(__always) subscript(_ priority: UInt8) -> Unmanaged<SchedulerTarget> {
      switch priority == 0 ? .default : SchedulerPriority(raw: priority) {
      case .high: high
      case .default: medium
      case .low: low
      case .background: background
      }
    }
  }

  private static let currentPool = Atomic<Unmanaged<Pool>?>(nil)  // nil until the first job
  private static let makingLock = Protected(()).heldInForks(beforeOthers: true)  // held by `makePool`

  /// Returns the current pool's scheduler for a task's raw priority; 0: no priority.
  @inline(__always) private static func pool(_ priority: UInt8) -> Unmanaged<SchedulerTarget> {
    let pool = currentPool.load(ordering: .acquiring) ?? makePool()  // GJ1: acquire; the pool's fields are read below
    return pool._withUnsafeGuaranteedRef {
      // in a fork child, where no thread serves it
      if $0.isOrphaned { return makePool()._withUnsafeGuaranteedRef { $0[priority] } }
      return $0[priority]
    }
  }

  /// Returns the current pool. Makes a pool if there is none, or if a fork has orphaned the current one.
  @inline(never) private static func makePool() -> Unmanaged<Pool> {
    makingLock.withLock { _ in
      // GJ1: the lock orders this after the store below by another thread
      let pool = currentPool.load(ordering: .relaxed)
      if let pool, !pool._withUnsafeGuaranteedRef({ $0.isOrphaned }) { return pool }
      let made = Unmanaged.passRetained(Pool())
      currentPool.store(made, ordering: .releasing)  // GJ1: release; carries the schedulers to the load in `pool`
      return made
    }
  }
}
