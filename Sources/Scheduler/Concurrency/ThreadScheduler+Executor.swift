extension ThreadScheduler: SerialExecutor, TaskExecutor {
  /// Runs a job of a task or an actor on the thread, in one order with the actions. Swift's runtime calls it.
  ///
  /// ```swift
  /// actor Database {
  ///   private let thread: ThreadScheduler
  ///   nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }
  /// }
  /// let task = Task(executorPreference: thread) { … }
  /// ```
  ///
  /// 1. Inside the job, ``Schedulers/current`` is this scheduler. The job is not an action, so it is never cancelled or dropped.
  /// 2. A stopped thread, by either policy, accepts jobs until it ends, and runs them last. For later jobs see ``ThreadScheduler/LateJobPolicy``.
  /// 3. The task's priority makes no difference.
  /// 4. It allocates nothing.
  public func enqueue(_ job: consuming ExecutorJob) { TaskJob(UnownedJob(job), on: self, .thread).submit() }

  /// Returns the executor for an actor's `unownedExecutor`.
  public func asUnownedSerialExecutor() -> UnownedSerialExecutor { actorExecutor.asUnownedSerialExecutor() }

  /// Returns whether both are the same scheduler.
  public func isSameExclusiveExecutionContext(other: ThreadScheduler) -> Bool {
    core.exclusiveRoot === other.core.exclusiveRoot
  }

  /// Stops the process with a message unless the caller is isolated to this scheduler: on its thread, or in a late job of it.
  public func checkIsolated() { requireIsolated() }

  /// Returns whether the caller is on the thread, or in a late job of it.
  public func isIsolatingCurrentContext() -> Bool? { core.isolatesHere }
}
