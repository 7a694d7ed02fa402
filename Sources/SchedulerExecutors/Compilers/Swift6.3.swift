#if compiler(>=6.3) && compiler(<6.4) && os(Linux) && !SCHEDULER_WITHOUT_SPI
  // Only for Swift 6.3: the language may change these interfaces in any version.
  @_spi(ExperimentalCustomExecutors) @_spi(ExperimentalScheduling) internal import _Concurrency
  internal import CSchedulerExecutors
  internal import Dispatch
  internal import Scheduler

  enum Executors: ExecutorFactory {
    static let areAvailable = true
    static let mainExecutor: any MainExecutor = MainLoopExecutor()
    static let defaultExecutor: any TaskExecutor = PoolExecutor()

    static func install() {
      _createExecutors(factory: Executors.self)
      let error = csched_executors_serve_main_queue_()
      if error == 0 { return }
      misuse(
        "GlobalExecutors.install",
        "the system has no descriptor for Dispatch's main queue: error \(error). Raise the limit of open files, or close some."
      )
    }

    /// Whether the process has not created a task yet. Each call creates one.
    static var noTaskWasMade: Bool {
      let numbering = Numbering()
      Task(executorPreference: numbering) {}
      return numbering.text.read() == "ExecutorJob(id: 1)"
    }
  }

  /// Runs a task, and stores the description of its job. The runtime numbers tasks from 1.
  private final class Numbering: TaskExecutor {
    let text = Protected("")

    func enqueue(_ job: consuming ExecutorJob) {
      text.write(job.description)
      job.runSynchronously(on: asUnownedTaskExecutor())
    }
  }

  /// Runs the tasks and actors that have no executor of their own. It has no fields: an optimised build then allocates it statically, without
  /// reference counting.
  private final class PoolExecutor: TaskExecutor, SchedulingExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
      let priority = job.priority.rawValue
      GlobalJobs.enqueue(UnownedJob(job), priority: priority)
    }

    func enqueue<C: Clock>(
      _ job: consuming ExecutorJob, at instant: C.Instant, tolerance: C.Duration?, clock: C
    ) {
      let priority = job.priority.rawValue, job = UnownedJob(job), tolerance = tolerance as? Duration ?? .zero
      switch instant {
      case let instant as ContinuousClock.Instant:
        GlobalJobs.enqueue(job, priority: priority, continuous: instant.nanoseconds, tolerance: tolerance)
      case let instant as SuspendingClock.Instant:
        GlobalJobs.enqueue(job, priority: priority, at: MonotonicTime(instant), tolerance: tolerance)
      default: enqueue(job, afterSleepOf: clock, until: instant)
      }
    }

    func enqueue<C: Clock>(
      _ job: consuming ExecutorJob, after delay: C.Duration, tolerance: C.Duration?, clock: C
    ) { enqueue(job, at: clock.now.advanced(by: delay), tolerance: tolerance, clock: clock) }
  }

  /// Runs the main actor.
  private final class MainLoopExecutor: MainExecutor, SchedulingExecutor {
    func enqueue(_ job: consuming ExecutorJob) { GlobalJobs.enqueueOnMain(UnownedJob(job)) }

    func enqueue<C: Clock>(
      _ job: consuming ExecutorJob, at instant: C.Instant, tolerance: C.Duration?, clock: C
    ) {
      let job = UnownedJob(job), tolerance = tolerance as? Duration ?? .zero
      switch instant {
      case let instant as ContinuousClock.Instant:
        GlobalJobs.enqueueOnMain(job, continuous: instant.nanoseconds, tolerance: tolerance)
      case let instant as SuspendingClock.Instant:
        GlobalJobs.enqueueOnMain(job, at: MonotonicTime(instant), tolerance: tolerance)
      default: enqueue(job, afterSleepOf: clock, until: instant)
      }
    }

    func enqueue<C: Clock>(
      _ job: consuming ExecutorJob, after delay: C.Duration, tolerance: C.Duration?, clock: C
    ) { enqueue(job, at: clock.now.advanced(by: delay), tolerance: tolerance, clock: clock) }

    func checkIsolated() {
      if GlobalJobs.isOnMain { return }
      if GlobalJobs.isHosted { dispatchPrecondition(condition: .onQueue(.main)) } else { GlobalJobs.requireMain() }
    }

    /// Off the main thread, a host's block may be isolated: the result is nil (unknown), and the runtime calls `checkIsolated`.
    func isIsolatingCurrentContext() -> Bool? { GlobalJobs.isOnMain ? true : GlobalJobs.isHosted ? nil : false }

    // MARK: The loop of a program with an async main

    func run() throws {
      if GlobalJobs.isHosted { dispatchMain() }
      GlobalJobs.runMain()
    }

    func runUntil(_ condition: () -> Bool) throws { GlobalJobs.runMain(until: condition) }

    func stop() { GlobalJobs.stopMain() }
  }

  extension Executor {
    /// Enqueues `job` after a sleep of `clock`: for clocks other than Swift's own, which the timers of this library do not know.
    fileprivate func enqueue<C: Clock>(_ job: UnownedJob, afterSleepOf clock: C, until instant: C.Instant) {
      Task {
        try? await clock.sleep(until: instant, tolerance: nil)
        enqueue(job)
      }
    }
  }
#endif
