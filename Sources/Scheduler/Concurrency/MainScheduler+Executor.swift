extension MainScheduler: SerialExecutor, TaskExecutor {
  /// Runs a job of a task or an actor on the main thread, never at once, in one order with the actions. For Swift's runtime.
  ///
  /// It is no executor of the main actor's: that keeps its own, unless `SchedulerExecutors` has been installed. After ``Schedulers/shutdown(_:)`` jobs run one at a time, in order, on the pool. Of
  /// a shutdown on another thread they wait for the main thread to come to its end of it. The task's priority makes no difference. It
  /// allocates nothing, unless another main loop is the host.
  public func enqueue(_ job: consuming ExecutorJob) { TaskJob(UnownedJob(job), on: self, .main).submit() }

  /// The executor for an actor's `unownedExecutor`. It takes those of the other main scheduler, and of queues on them, for itself.
  public func asUnownedSerialExecutor() -> UnownedSerialExecutor { actorExecutor.asUnownedSerialExecutor() }

  /// True: both are on the main thread.
  public func isSameExclusiveExecutionContext(other: MainScheduler) -> Bool { true }

  /// Stops the process with a message unless the caller is on the main thread, or on the one that has its place in a host.
  public func checkIsolated() { requireIsolated() }

  /// Whether the caller is on the main thread, or on the one that has its place in a host.
  public func isIsolatingCurrentContext() -> Bool? { core.isolatesHere }
}

extension MainScheduler {
  /// Schedules `action`, which is isolated to the main actor.
  ///
  /// What runs the main scheduler must be the main thread, or Dispatch's main queue (module `SchedulerMainLoop`). A host with another thread
  /// has Swift stop the process with a message.
  ///
  /// - Parameter action: what to do on the main actor.
  /// - Returns: what cancels it before it begins.
  @discardableResult
  public func schedule(onMainActor action: @escaping @MainActor @Sendable () -> Void) -> any Disposable {
    schedule { MainActor.assumeIsolated(action) }
  }
}
