extension ThreadScheduler: SerialExecutor, TaskExecutor {
  /// Enqueues a job of a task or an actor on the thread, first in, first out with the actions. Swift's runtime calls
  /// this.
  ///
  /// ```swift
  /// actor Database {
  ///   private let thread: ThreadScheduler
  ///   nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }
  /// }
  /// let task = Task(executorPreference: thread) { … }
  /// ```
  ///
  /// 1. Inside the job, ``Schedulers/current`` is this scheduler. The job is not an action, so it is never cancelled or
  ///    dropped.
  /// 2. A stopped thread, by either policy, accepts jobs until it ends, and runs them last. For later jobs see
  ///    ``ThreadScheduler/LateJobPolicy``.
  /// 3. The task's priority is ignored. Enqueueing allocates nothing.
  public func enqueue(_ job: consuming ExecutorJob) { TaskJob(UnownedJob(job), on: self, .thread).submit() }

  /// Returns the executor for an actor's `unownedExecutor`.
  public func asUnownedSerialExecutor() -> UnownedSerialExecutor { actorExecutor.asUnownedSerialExecutor() }

  /// Returns whether this scheduler and `other` are on the same thread.
  public func isSameExclusiveExecutionContext(other: ThreadScheduler) -> Bool {
    core.exclusiveRoot === other.core.exclusiveRoot  // of a thread: its core
  }

  /// Stops the process with a message unless the caller is on the thread, or in one of its late jobs.
  public func checkIsolated() { requireIsolated() }

  /// Returns whether the caller is on the thread, or in one of its late jobs.
  public func isIsolatingCurrentContext() -> Bool? { core.isCallerIsolated }
}

extension SerialScheduler: SerialExecutor, TaskExecutor {
  /// Enqueues a job of a task or an actor in the queue, first in, first out with the actions. Swift's runtime calls
  /// this.
  ///
  /// ```swift
  /// actor Cache {
  ///   private let queue = SerialScheduler(name: "cache")
  ///   nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }
  ///   func evict() { … }
  /// }
  /// ```
  ///
  /// 1. Inside the job, ``Schedulers/current`` is this queue. The body of ``sync(_:)`` is isolated to the queue as a
  ///    job is.
  /// 2. If the target has been stopped, a job runs where the target's late jobs run: see
  ///    ``ThreadScheduler/LateJobPolicy``. If the pool was shut down, jobs of a queue on it continue one at a time, in
  ///    order, on the next pool.
  /// 3. The job has the queue's priority; the task's priority is ignored. Enqueueing allocates nothing.
  public func enqueue(_ job: consuming ExecutorJob) { TaskJob(UnownedJob(job), on: self, .serial).submit() }

  /// Returns the executor for an actor's `unownedExecutor`. Swift treats the executors of a thread and of the queues on
  /// it as one.
  public func asUnownedSerialExecutor() -> UnownedSerialExecutor { actorExecutor.asUnownedSerialExecutor() }

  /// Returns whether work of the two queues never runs concurrently: both are on one thread, one targets the other, or
  /// both target a third queue.
  public func isSameExclusiveExecutionContext(other: SerialScheduler) -> Bool {
    core.exclusiveRoot === other.core.exclusiveRoot  // the last exclusive target in the chain of targets
  }

  /// Stops the process with a message unless the caller is isolated to this queue.
  public func checkIsolated() { requireIsolated() }

  /// Returns whether the caller is in this queue, or in work that never runs concurrently with it: on its thread, or in
  /// a queue above or below it.
  public func isIsolatingCurrentContext() -> Bool? { core.isCallerIsolated }
}

extension MainScheduler: SerialExecutor, TaskExecutor {
  /// Enqueues a job of a task or an actor on the main thread, in order with the actions. Never runs the job at once.
  /// Swift's runtime calls this.
  ///
  /// The main actor has its own executor, unless `SchedulerExecutors` has been installed. After
  /// ``Schedulers/shutdown(_:)`` jobs run one at a time, in order, on the pool. If another thread shuts down, the jobs
  /// first wait until the main thread has finished its part of the shutdown.
  /// The task's priority is ignored. Enqueueing allocates nothing, unless another main loop is the host.
  public func enqueue(_ job: consuming ExecutorJob) { TaskJob(UnownedJob(job), on: self, .main).submit() }

  /// Returns the executor for an actor's `unownedExecutor`. The executors of both main schedulers, and of queues on
  /// them, count as the same.
  public func asUnownedSerialExecutor() -> UnownedSerialExecutor { actorExecutor.asUnownedSerialExecutor() }

  /// Returns true: both are on the main thread.
  public func isSameExclusiveExecutionContext(other: MainScheduler) -> Bool { true }

  /// Stops the process with a message unless the caller is on the main thread, or on the thread that replaces it in a
  /// host.
  public func checkIsolated() { requireIsolated() }

  /// Returns whether the caller is on the main thread, or on the thread that replaces it in a host.
  public func isIsolatingCurrentContext() -> Bool? { core.isCallerIsolated }
}

extension MainScheduler {
  /// Schedules `action`, which is isolated to the main actor.
  ///
  /// If a host runs the main scheduler on another thread than the main thread, Swift stops the process with a message.
  /// Dispatch's main queue (module `SchedulerDispatch`) is allowed.
  ///
  /// - Parameter action: the function to call on the main actor.
  /// - Returns: a disposable that cancels the action before it starts.
  @discardableResult
  public func schedule(onMainActor action: @escaping @MainActor @Sendable () -> Void) -> any Disposable {
    schedule { MainActor.assumeIsolated(action) }
  }

  /// Schedules `action`, which is isolated to the main actor, at the times that `timing` describes, once or repeatedly.
  ///
  /// ```swift
  /// MainScheduler.instance.schedule(.every(.seconds(1)), onMainActor: { clock.redraw() })
  /// ```
  ///
  /// - Parameters:
  ///   - timing: when the action runs.
  ///   - action: the function to call on the main actor: see ``schedule(onMainActor:)``.
  /// - Returns: a disposable that cancels the action.
  @discardableResult
  public func schedule(
    _ timing: ActionTiming, onMainActor action: @escaping @MainActor @Sendable () -> Void
  ) -> any Disposable { schedule(timing) { MainActor.assumeIsolated(action) } }
}

extension ConcurrentScheduler: TaskExecutor {
  /// Enqueues a job of a task on the pool, with this scheduler's priority. Swift's runtime calls this.
  ///
  /// ```swift
  /// let thumbnail = await Task(executorPreference: ConcurrentScheduler(priority: .low)) { await decode(image) }.value
  /// ```
  ///
  /// Inside the job, ``Schedulers/current`` is this scheduler. After the pool's shutdown the job runs on the next pool.
  /// Enqueueing allocates nothing.
  public func enqueue(_ job: consuming ExecutorJob) { TaskJob(UnownedJob(job), on: self, .concurrent).submit() }
}
