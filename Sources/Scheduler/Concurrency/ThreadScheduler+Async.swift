extension ThreadScheduler {
  /// Ends the thread as ``stop(_:)`` does, and suspends the task until it has ended.
  ///
  /// On the thread itself, too: a task that is isolated to it lets it go on, and goes on as a late job, see ``ThreadScheduler/LateJobPolicy``. A cancelled task
  /// waits as any other.
  ///
  /// - Parameters:
  ///   - policy: what becomes of the actions that are outstanding. Jobs of tasks run in any case.
  ///   - isolation: the caller's, which it keeps.
  public func stopAndJoin(
    _ policy: Schedulers.StopPolicy = .runOutstanding, isolation: isolated (any Actor)? = #isolation
  ) async {
    stop(policy)
    // In a child of fork the join stops the process.
    if !thread.isOrphaned { await thread.end.wait(isolation: isolation) }
    joinBlocking()  // it has only to return from where it has resumed the task
  }

  /// Makes a value on the thread, and keeps it there: see ``ThreadScheduler/Confined``.
  ///
  /// - Parameter make: makes the value, as an action of this scheduler, after those that were scheduled before. What it throws, each use throws. What it captures
  ///   need not be `Sendable`: it is the thread's then.
  /// - Returns: what stands for the value elsewhere, at once.
  public func confine<Value>(_ make: sending @escaping () throws -> Value) -> ThreadScheduler.Confined<Value> {
    ThreadScheduler.Confined(to: self, consume make)
  }
}
