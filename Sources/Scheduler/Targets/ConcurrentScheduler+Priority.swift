extension ConcurrentScheduler {
  /// Returns a scheduler for work of another priority. It has the same identity for ``Schedulers/current`` in its actions. A scheduler with a limit
  /// keeps its priority: the result is the scheduler itself.
  package func prioritized(_ priority: SchedulerPriority) -> ConcurrentScheduler {
    guard let pool = core as? PoolCore, pool.priority != priority else { return self }
    return ConcurrentScheduler(name: name, on: ownPool, core: pool.sibling(priority), tag: tag as? CurrentTag)
  }
}
