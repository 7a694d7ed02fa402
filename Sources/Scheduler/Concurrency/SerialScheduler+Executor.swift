extension SerialScheduler: SerialExecutor, TaskExecutor {
  /// Runs a job of a task or an actor in the queue, among the actions, in the order in which they come. For Swift's runtime.
  ///
  /// ```swift
  /// actor Cache {
  ///   private let queue = SerialScheduler(name: "cache")
  ///   nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }
  ///   func evict() { … }
  /// }
  /// ```
  ///
  /// 1. ``Schedulers/current`` is this queue inside; ``sync(_:)`` is isolated to it as a job is.
  /// 2. When the target has been stopped, a job goes where late jobs of the target go: see ``ThreadScheduler/LateJobPolicy``. Of a queue on the pool,
  ///    which was shut down, jobs go on one at a time, in order, on the next pool.
  /// 3. The task's priority makes no difference: the queue's counts.
  /// 4. It allocates nothing.
  public func enqueue(_ job: consuming ExecutorJob) { TaskJob(UnownedJob(job), on: self, .serial).submit() }

  /// The executor for an actor's `unownedExecutor`. It takes those of its thread, and of queues on the same, for itself.
  public func asUnownedSerialExecutor() -> UnownedSerialExecutor { actorExecutor.asUnownedSerialExecutor() }

  /// Whether nothing of one of both ever runs beside something of the other: they are on the same thread, or one is on the other, or both are
  /// on a third.
  public func isSameExclusiveExecutionContext(other: SerialScheduler) -> Bool {
    core.exclusiveRoot === other.core.exclusiveRoot
  }

  /// Stops the process with a message unless the caller is isolated to this queue.
  public func checkIsolated() { requireIsolated() }

  /// Whether the caller is in this queue, or in something that never runs beside it: on its thread, in a queue below or above.
  public func isIsolatingCurrentContext() -> Bool? { core.isolatesHere }
}
