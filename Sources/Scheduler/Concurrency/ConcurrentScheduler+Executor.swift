extension ConcurrentScheduler: TaskExecutor {
  /// Runs a job of a task on the pool, with this scheduler's priority. For Swift's runtime.
  ///
  /// ```swift
  /// let thumbnail = await Task(executorPreference: ConcurrentScheduler(priority: .low)) { await decode(image) }.value
  /// ```
  ///
  /// ``Schedulers/current`` is this scheduler inside. A pool that was shut down hands its jobs on to the next one. It allocates nothing.
  public func enqueue(_ job: consuming ExecutorJob) { TaskJob(UnownedJob(job), on: self, .concurrent).submit() }
}
