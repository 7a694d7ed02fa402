extension SerialScheduler: SerialExecutor, TaskExecutor {
  /// Runs a job of a task or an actor in the queue, in one order with the actions. Swift's runtime calls it.
  ///
  /// ```swift
  /// actor Cache {
  ///   private let queue = SerialScheduler(name: "cache")
  ///   nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }
  ///   func evict() { … }
  /// }
  /// ```
  ///
  /// 1. Inside the job, ``Schedulers/current`` is this queue. The body of ``sync(_:)`` is isolated to the queue as a job is.
  /// 2. If the target has been stopped, a job runs where the target's late jobs run: see ``ThreadScheduler/LateJobPolicy``. If the pool was shut
  ///    down, jobs of a queue on it continue one at a time, in order, on the next pool.
  /// 3. The task's priority makes no difference: the queue's counts.
  /// 4. It allocates nothing.
  public func enqueue(_ job: consuming ExecutorJob) { TaskJob(UnownedJob(job), on: self, .serial).submit() }

  /// Returns the executor for an actor's `unownedExecutor`. Those of the queue's thread, and of queues on that thread, count as the same.
  public func asUnownedSerialExecutor() -> UnownedSerialExecutor { actorExecutor.asUnownedSerialExecutor() }

  /// Returns whether work of the two queues never runs concurrently: they are on the same thread, one targets the other, or both target a third.
  public func isSameExclusiveExecutionContext(other: SerialScheduler) -> Bool {
    core.exclusiveRoot === other.core.exclusiveRoot
  }

  /// Stops the process with a message unless the caller is isolated to this queue.
  public func checkIsolated() { requireIsolated() }

  /// Returns whether the caller is in this queue, or in work that never runs beside it: on its thread, or in a queue below or above it.
  public func isIsolatingCurrentContext() -> Bool? { core.isolatesHere }
}
