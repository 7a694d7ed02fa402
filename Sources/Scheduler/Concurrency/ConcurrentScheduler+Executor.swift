extension ConcurrentScheduler: TaskExecutor {
  /// Runs a job of a task on the pool, with this scheduler's priority. Swift's runtime calls it.
  ///
  /// ```swift
  /// let thumbnail = await Task(executorPreference: ConcurrentScheduler(priority: .low)) { await decode(image) }.value
  /// ```
  ///
  /// Inside the job, ``Schedulers/current`` is this scheduler. A pool that was shut down passes its jobs to the next pool. It allocates nothing.
  public func enqueue(_ job: consuming ExecutorJob) { TaskJob(UnownedJob(job), on: self, .concurrent).submit() }
}
