// Replaces Swift's own executors. Only this file of the module uses Swift 6.3's experimental interfaces; Portable.swift
// is for other compilers.
#if compiler(>=6.3) && compiler(<6.4) && os(Linux) && !SCHEDULER_WITHOUT_SPI
  @_spi(ExperimentalCustomExecutors) @_spi(ExperimentalScheduling) internal import _Concurrency

  enum VirtualExecutors: ExecutorFactory {
    static let areAvailable = true
    // Both are created in `_createExecutors`, so each still finds the executor that it replaces.
    static let mainExecutor: any MainExecutor = RoutingMainExecutor(MainActor.executor)
    static let defaultExecutor: any TaskExecutor = RoutingExecutor(Task<Never, Never>.defaultExecutor)

    /// Replaces the process's executors by routing executors, which forward to the replaced ones. Later calls do
    /// nothing.
    static func install() {
      if Task<Never, Never>.defaultExecutor is RoutingExecutor { return }
      _createExecutors(factory: Self.self)  // the runtime reads `mainExecutor` and `defaultExecutor`
    }

    /// Enqueues a job, at once or after `delay` of real time, on the executor that the job would have without virtual
    /// time.
    static func enqueueOnSwiftExecutor(_ job: RoutedJob, after delay: Duration?) {
      switch job.place {  // as!: the two constants above have these types
      case .global: submit(job.job, to: (defaultExecutor as! RoutingExecutor).original, after: delay)
      case .main: submit(job.job, to: (mainExecutor as! RoutingMainExecutor).original, after: delay)
      }
    }

    /// Enqueues `job` on `executor`, at once if `delay` is nil or the executor has no delayed jobs.
    private static func submit(_ job: UnownedJob, to executor: any Executor, after delay: Duration?) {
      guard let delay, let executor = executor as? any SchedulingExecutor else {
        return executor.enqueue(ExecutorJob(job))
      }
      executor.enqueue(ExecutorJob(job), after: delay, tolerance: nil, clock: .continuous)
    }
  }

  /// A routing executor: adds each job that a scope owns to that scope, and enqueues each other job on `original`, the
  /// executor that it replaces.
  private class Router: SchedulingExecutor, @unchecked Sendable {
    // Unchecked, because a class with subclasses cannot be checked; its fields are constant and Sendable.
    final let original: any Executor
    private let place: RoutedJob.Place  // which of Swift's executors `original` is

    init(_ original: any Executor, _ place: RoutedJob.Place) { (self.original, self.place) = (original, place) }

    final func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      // false: no open scope owns the job
      if !VirtualScope.routeToOwner(RoutedJob(job, place)) { original.enqueue(ExecutorJob(job)) }
    }

    final func enqueue<C: Clock>(
      _ job: consuming ExecutorJob, at instant: C.Instant, tolerance: C.Duration?, clock: C
    ) {
      // `delay` is nil for a clock with another type of duration: such a sleep stays in real time
      let job = UnownedJob(job), delay = clock.now.duration(to: instant) as? Duration
      if let delay, VirtualScope.routeToOwner(RoutedJob(job, place), after: delay) { return }
      (original as! any SchedulingExecutor).enqueue(ExecutorJob(job), at: instant, tolerance: tolerance, clock: clock)
    }

    final func enqueue<C: Clock>(
      _ job: consuming ExecutorJob, after delay: C.Duration, tolerance: C.Duration?, clock: C
    ) { enqueue(job, at: clock.now.advanced(by: delay), tolerance: tolerance, clock: clock) }
  }

  /// Replaces the global executor.
  private final class RoutingExecutor: Router, TaskExecutor, @unchecked Sendable {
    // Unchecked, as its superclass is.
    init(_ original: any TaskExecutor) { super.init(original, .global) }
  }

  /// Replaces the main actor's executor. Forwards the loop and the isolation checks to the replaced one.
  private final class RoutingMainExecutor: Router, MainExecutor, @unchecked Sendable {
    // Unchecked, as its superclass is.
    private let main: any MainExecutor

    init(_ main: any MainExecutor) {
      self.main = main
      super.init(main, .main)
    }

    func checkIsolated() { main.checkIsolated() }
    func isIsolatingCurrentContext() -> Bool? { main.isIsolatingCurrentContext() }
    func run() throws { try main.run() }
    func runUntil(_ condition: () -> Bool) throws { try main.runUntil(condition) }
    func stop() { main.stop() }
  }
#endif
