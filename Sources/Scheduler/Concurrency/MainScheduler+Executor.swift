extension MainScheduler: SerialExecutor, TaskExecutor {
  /// Runs a job of a task or an actor on the main thread, never at once, in one order with the actions. Swift's runtime calls it.
  ///
  /// The main actor keeps its own executor, unless `SchedulerExecutors` has been installed. After ``Schedulers/shutdown(_:)`` jobs run one at a
  /// time, in order, on the pool. If another thread shuts down, they first wait until the main thread has finished its part of the shutdown.
  /// The task's priority makes no difference. It allocates nothing, unless another main loop is the host.
  public func enqueue(_ job: consuming ExecutorJob) { TaskJob(UnownedJob(job), on: self, .main).submit() }

  /// Returns the executor for an actor's `unownedExecutor`. Those of the other main scheduler, and of queues on both, count as the same.
  public func asUnownedSerialExecutor() -> UnownedSerialExecutor { actorExecutor.asUnownedSerialExecutor() }

  /// Returns true: both are on the main thread.
  public func isSameExclusiveExecutionContext(other: MainScheduler) -> Bool { true }

  /// Stops the process with a message unless the caller is on the main thread, or on the thread that replaces it in a host.
  public func checkIsolated() { requireIsolated() }

  /// Returns whether the caller is on the main thread, or on the thread that replaces it in a host.
  public func isIsolatingCurrentContext() -> Bool? { core.isolatesHere }
}

extension MainScheduler {
  /// Schedules `action`, which is isolated to the main actor.
  ///
  /// The main thread, or Dispatch's main queue (module `SchedulerMainLoop`), must run the main scheduler. If a host runs it on another thread,
  /// Swift stops the process with a message.
  ///
  /// - Parameter action: the function to call on the main actor.
  /// - Returns: a disposable that cancels the action before it starts.
  @discardableResult
  public func schedule(onMainActor action: @escaping @MainActor @Sendable () -> Void) -> any Disposable {
    schedule { MainActor.assumeIsolated(action) }
  }
}
