#if compiler(>=6.3) && compiler(<6.4) && os(Linux) && !SCHEDULER_WITHOUT_SPI
  // Only for Swift 6.3: the language may change these interfaces in any version.
  @_spi(ExperimentalCustomExecutors) @_spi(ExperimentalScheduling) internal import _Concurrency
  internal import Dispatch
  internal import Scheduler

  /// The executors that replace Swift's own: the runtime reads the two static properties in `_createExecutors`.
  enum Executors: ExecutorFactory {
    static let areAvailable = true
    static let mainExecutor: any MainExecutor = MainLoopExecutor()
    static let defaultExecutor: any TaskExecutor = PoolExecutor()

    /// Replaces Swift's own executors, and makes the main loop and Dispatch's main queue run each other's work. Stops
    /// the process if the system has no free descriptor.
    static func install() {
      _createExecutors(factory: Executors.self)
      MainQueue.serve()
    }

    /// Whether the process had not created a task before this call. Creates a task, which runs before this returns, and
    /// checks its number: 1 is the number of the first task.
    static var noTaskWasMade: Bool {
      let numbering = Numbering()
      Task(executorPreference: numbering) {}
      return numbering.text.read() == "ExecutorJob(id: 1)"  // the runtime's text for task 1
    }
  }

  /// Runs a task inside `enqueue`, and stores the description of its job, which contains the task's number.
  private final class Numbering: TaskExecutor {
    let text = Protected("")

    func enqueue(_ job: consuming ExecutorJob) {
      text.write(job.description)
      job.runSynchronously(on: asUnownedTaskExecutor())
    }
  }

  /// Runs the tasks and actors that have no executor of their own. Add no fields: without fields, an optimised build
  /// allocates the object statically, and does not count its references.
  private final class PoolExecutor: TaskExecutor, SchedulingExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
      let priority = job.priority.rawValue  // read first: the next line consumes `job`
      GlobalJobs.enqueue(UnownedJob(job), priority: priority)
    }

    func enqueue<C: Clock>(
      _ job: consuming ExecutorJob, at instant: C.Instant, tolerance: C.Duration?, clock: C
    ) {
      // A tolerance that is nil, or of a clock whose durations are no `Duration`, becomes zero: the job then runs as
      // early as it may.
      let priority = job.priority.rawValue, job = UnownedJob(job), tolerance = tolerance as? Duration ?? .zero
      switch instant {  // Swift's two clocks have timers here; for another clock, a task sleeps
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

  /// Runs the main actor on the main loop.
  private final class MainLoopExecutor: MainExecutor, SchedulingExecutor {
    func enqueue(_ job: consuming ExecutorJob) { GlobalJobs.enqueueOnMain(UnownedJob(job)) }

    func enqueue<C: Clock>(
      _ job: consuming ExecutorJob, at instant: C.Instant, tolerance: C.Duration?, clock: C
    ) {
      // The tolerance becomes zero as in PoolExecutor.
      let job = UnownedJob(job), tolerance = tolerance as? Duration ?? .zero
      switch instant {  // Swift's two clocks, or another one: as in PoolExecutor
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

    /// Stops the process if the caller is not isolated to the main actor.
    func checkIsolated() {
      if isIsolatingCurrentContext() != true { GlobalJobs.requireMainThread() }
    }

    /// Returns whether the caller is isolated to the main actor. After `dispatchMain`, Dispatch's main queue runs on
    /// other threads than the main one.
    func isIsolatingCurrentContext() -> Bool? { GlobalJobs.isOnMain || MainQueue.isCurrent }

    // MARK: The loop of a program with an async main: the runtime calls these

    func run() throws {
      if GlobalJobs.isHosted { dispatchMain() }  // never returns; Dispatch's main queue runs the main loop
      GlobalJobs.runMain()
    }

    /// Unlike `run`, runs the main loop itself also if it is hosted: a `dispatchMain` would not return when `condition`
    /// holds.
    func runUntil(_ condition: () -> Bool) throws { GlobalJobs.runMain(until: condition) }

    func stop() { GlobalJobs.stopMain() }
  }

  extension Executor {
    /// Enqueues `job` on this executor after a sleep on `clock`: for clocks other than Swift's two, for which this
    /// library has no timers.
    fileprivate func enqueue<C: Clock>(_ job: UnownedJob, afterSleepOf clock: C, until instant: C.Instant) {
      Task {
        try? await clock.sleep(until: instant, tolerance: nil)  // the job must run, also if the sleep fails
        enqueue(job)
      }
    }
  }
#endif
