extension ThreadScheduler: SerialExecutor, TaskExecutor {
  /// Runs a job of a task or an actor on the thread, among the actions, in the order in which they come. For Swift's runtime.
  ///
  /// ```swift
  /// actor Database {
  ///   private let thread: ThreadScheduler
  ///   nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }
  /// }
  /// let task = Task(executorPreference: thread) { … }
  /// ```
  ///
  /// 1. ``Schedulers/current`` is this scheduler inside; the job is no action, so nothing cancels or drops it.
  /// 2. A thread that was stopped, by either policy, takes jobs until it ends, and runs them last. Later ones: see ``ThreadScheduler/LateJobPolicy``.
  /// 3. The task's priority makes no difference.
  /// 4. It allocates nothing.
  public func enqueue(_ job: consuming ExecutorJob) { TaskJob(UnownedJob(job), on: self, .thread).submit() }

  /// The executor for an actor's `unownedExecutor`.
  public func asUnownedSerialExecutor() -> UnownedSerialExecutor { actorExecutor.asUnownedSerialExecutor() }

  /// Whether both are one.
  public func isSameExclusiveExecutionContext(other: ThreadScheduler) -> Bool {
    core.exclusiveRoot === other.core.exclusiveRoot
  }

  /// Stops the process with a message unless the caller is isolated to this scheduler: on its thread, or in a late job of it.
  public func checkIsolated() { requireIsolated() }

  /// Whether the caller is on the thread, or in a late job of it.
  public func isIsolatingCurrentContext() -> Bool? { core.isolatesHere }
}
