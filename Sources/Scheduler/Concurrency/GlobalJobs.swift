// Obligations
//   GJ1  Who finds the pool's schedulers finds them whole. In a child of fork, whose pool is not there, the first who asks makes others.
// Orderings
//   present: the release of who has made them pairs with the acquire of who finds them
// Checked by: the runs of Tests/Probes/AllTasks, one that forks among them.
// Models: none. Not modelled: GJ1.

internal import CScheduler
internal import Synchronization

/// What the module `SchedulerExecutors` makes Swift's own executors of: the shared pool runs all tasks and actors that have no executor, and the
/// main loop the main actor.
package enum GlobalJobs {
  /// How many jobs have come, where `Diagnostics.isOn`.
  package static let counts = Protected((onPool: 0, onMain: 0, delayed: 0))

  /// Whether Swift's executors are these. From then on the pool and the main loop cannot be shut down.
  package static var isInstalled: Bool { csched_main_loop_is_kept_() }

  package static func install() { csched_main_loop_keep_() }

  /// Has the pool run `job`, with the task's priority.
  package static func enqueue(_ job: UnownedJob, priority: UInt8) {
    if Counted.isOn { counts.withLock { $0.onPool += 1 } }
    TaskJob(job, on: pool(priority), .ofAll).submitOfAll()
  }

  /// Has the main loop run `job`, isolated to the main actor.
  package static func enqueueOnMain(_ job: UnownedJob) {
    if Counted.isOn { counts.withLock { $0.onMain += 1 } }
    TaskJob(job, on: MainScheduler.instance, .ofMainActor).submit()
  }

  /// The same two at an instant, not earlier; `continuous` is one of the clock that counts the system's sleep.
  package static func enqueue(_ job: UnownedJob, priority: UInt8, at instant: MonotonicTime, tolerance: Duration) {
    submit(TaskJob(job, on: pool(priority), .ofAll), at: instant.nanoseconds, CSCHED_CLOCK_MONOTONIC, tolerance)
  }

  package static func enqueue(
    _ job: UnownedJob, priority: UInt8, continuous nanoseconds: UInt64, tolerance: Duration
  ) {
    submit(TaskJob(job, on: pool(priority), .ofAll), at: nanoseconds, CSCHED_CLOCK_BOOT, tolerance)
  }

  package static func enqueueOnMain(_ job: UnownedJob, at instant: MonotonicTime, tolerance: Duration) {
    submit(
      TaskJob(job, on: MainScheduler.instance, .ofMainActor), at: instant.nanoseconds, CSCHED_CLOCK_MONOTONIC, tolerance
    )
  }

  package static func enqueueOnMain(_ job: UnownedJob, continuous nanoseconds: UInt64, tolerance: Duration) {
    submit(
      TaskJob(job, on: MainScheduler.instance, .ofMainActor), at: nanoseconds, CSCHED_CLOCK_BOOT, tolerance)
  }

  private static func submit(_ job: TaskJob, at time: csched_time, _ clock: csched_clock, _ tolerance: Duration) {
    if Counted.isOn { counts.withLock { $0.delayed += 1 } }
    job.submit(at: time, on: clock, tolerance: tolerance)
  }

  // MARK: the main loop

  /// Whether the caller is isolated to the main actor.
  package static var isOnMain: Bool { MainCore.isHere }

  /// Stops the process with a message unless it is.
  package static func requireMain() { MainScheduler.instance.requireIsolated() }

  /// Whether another main loop has taken the place of ours.
  package static var isHosted: Bool { csched_main_loop_is_hosted_() }

  private static let isStopped = Protected(false), isRunning = Protected(false)

  /// Whether ``runMain()`` runs, or has run: no other main loop may take its place.
  static var ownsMain: Bool { isRunning.read() }

  /// Runs the main loop until ``stopMain()``; an end of a run that nobody is in ends nothing.
  package static func runMain() {
    MainCore.shared.requireMain("run")
    isRunning.write(true)
    while !isStopped.exchange(false) {
      if csched_loop_run(MainCore.shared.loop) == CSCHED_RUN_CLOSED { stopForClosedLoop() }
    }
  }

  /// The same until `condition` holds, which is asked after each job.
  package static func runMain(until condition: () -> Bool) {
    MainCore.shared.requireMain("run")
    while !condition() { _ = csched_loop_run_once(MainCore.shared.loop, csched_time.max) }
  }

  /// Ends a run of ``runMain()``, or the next one.
  package static func stopMain() {
    isStopped.write(true)
    MainScheduler.stop()
  }

  private static func stopForClosedLoop() -> Never {
    misuse(
      "MainActor",
      "the main loop was closed, which runs the main actor. Leave csched_loop_close(csched_main_loop()) out.")
  }

  // MARK: the pool

  /// A pool's schedulers, which live as long as the process: to count references to what weak ones refer to is slow.
  private final class Pool: Sendable {
    private let core = PoolCore.shared(.default)
    private let high = kept(.high), medium = kept(.default), low = kept(.low), background = kept(.background)

    private static func kept(_ priority: SchedulerPriority) -> Unmanaged<SchedulerTarget> {
      .passRetained(ConcurrentScheduler(core: PoolCore.shared(priority)))
    }

    /// Whether a fork has left its threads in the parent.
    var isOrphaned: Bool { core.isOrphaned }

    @inline(__always) subscript(_ priority: UInt8) -> Unmanaged<SchedulerTarget> {
      switch priority == 0 ? .default : SchedulerPriority(raw: priority) {
      case .high: high
      case .default: medium
      case .low: low
      case .background: background
      }
    }
  }

  /// The present one.
  private static let present = Atomic<Unmanaged<Pool>?>(nil)
  private static let making = Protected(())

  /// The scheduler for a task's priority, by the table of `SchedulerPriority(_:)`; 0 is a task that has none. A child of fork has a pool of its own.
  @inline(__always) private static func pool(_ priority: UInt8) -> Unmanaged<SchedulerTarget> {
    let pool = present.load(ordering: .acquiring) ?? makePool()  // GJ1: pairs with makePool; carries them
    return pool._withUnsafeGuaranteedRef {
      if $0.isOrphaned { return makePool()._withUnsafeGuaranteedRef { $0[priority] } }
      return $0[priority]
    }
  }

  @inline(never) private static func makePool() -> Unmanaged<Pool> {
    making.withLock { _ in
      let pool = present.load(ordering: .relaxed)  // GJ1: under the lock
      if let pool, !pool._withUnsafeGuaranteedRef({ $0.isOrphaned }) { return pool }
      let made = Unmanaged.passRetained(Pool())
      present.store(made, ordering: .releasing)  // GJ1: pairs with pool
      return made
    }
  }
}
