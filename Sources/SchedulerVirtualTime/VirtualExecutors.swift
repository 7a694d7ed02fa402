internal import Scheduler

// Replaces Swift's own executors. No other file in this module does. Swift 6.3 calls these interfaces experimental: hence the condition.
#if compiler(>=6.3) && compiler(<6.4) && os(Linux)
  @_spi(ExperimentalCustomExecutors) @_spi(ExperimentalScheduling) internal import _Concurrency

  enum VirtualExecutors: ExecutorFactory {
    static let areAvailable = true
    static let mainExecutor: any MainExecutor = RoutingMainExecutor(MainActor.executor)
    static let defaultExecutor: any TaskExecutor = RoutingExecutor(Task<Never, Never>.defaultExecutor)

    /// Puts the routing executors in front of the current ones. A second call does nothing, unless other executors were installed since.
    static func install() {
      if Task<Never, Never>.defaultExecutor is RoutingExecutor { return }
      _createExecutors(factory: Self.self)
    }

    /// Passes a job to the executor that it would have without virtual time, `delay` from now.
    static func release(_ job: RoutedJob, after delay: Duration?) {
      switch job.place {
      case .global: pass(job.job, to: (defaultExecutor as! RoutingExecutor).original, after: delay)
      case .main: pass(job.job, to: (mainExecutor as! RoutingMainExecutor).original, after: delay)
      }
    }

    private static func pass(_ job: UnownedJob, to executor: any Executor, after delay: Duration?) {
      guard let delay, let executor = executor as? any SchedulingExecutor else {
        return executor.enqueue(ExecutorJob(job))
      }
      executor.enqueue(ExecutorJob(job), after: delay, tolerance: nil, clock: .continuous)
    }
  }

  /// Routes the jobs of virtual time to their scope, and all others to Swift's own executor.
  private class Router: SchedulingExecutor, @unchecked Sendable {
    // Unchecked, because a class with subclasses cannot be checked; its fields are constant and Sendable.
    final let original: any Executor
    private let place: RoutedJob.Place

    init(_ original: any Executor, _ place: RoutedJob.Place) { (self.original, self.place) = (original, place) }

    final func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      if !VirtualScope.take(RoutedJob(job, place)) { original.enqueue(ExecutorJob(job)) }
    }

    final func enqueue<C: Clock>(
      _ job: consuming ExecutorJob, at instant: C.Instant, tolerance: C.Duration?, clock: C
    ) {
      let job = UnownedJob(job), delay = clock.now.duration(to: instant) as? Duration
      if let delay, VirtualScope.take(RoutedJob(job, place), after: delay) { return }
      (original as! any SchedulingExecutor).enqueue(ExecutorJob(job), at: instant, tolerance: tolerance, clock: clock)
    }

    final func enqueue<C: Clock>(
      _ job: consuming ExecutorJob, after delay: C.Duration, tolerance: C.Duration?, clock: C
    ) { enqueue(job, at: clock.now.advanced(by: delay), tolerance: tolerance, clock: clock) }
  }

  private final class RoutingExecutor: Router, TaskExecutor, @unchecked Sendable {
    // Unchecked, as its superclass is.
    init(_ original: any TaskExecutor) { super.init(original, .global) }
  }

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
#else
  /// This compiler cannot replace Swift's own executors, or has other interfaces for it.
  enum VirtualExecutors {
    static let areAvailable = false
    static func install() {}
    static func release(_ job: RoutedJob, after delay: Duration?) {}
  }
#endif

/// Called by CSchedulerVirtualTime before main.
@_cdecl("csched_testing_install_")
func installBeforeMain() {
  VirtualExecutors.install()
  SharedPool.replace { VirtualScope.current?.scheduler }
}
