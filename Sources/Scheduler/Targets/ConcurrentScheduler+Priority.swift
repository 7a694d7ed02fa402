extension ConcurrentScheduler {
  /// This scheduler for work of another priority: the same one, by identity, for ``Schedulers/current`` in its actions. One with a limit
  /// has the priority that it was made with.
  package func prioritized(_ priority: SchedulerPriority) -> ConcurrentScheduler {
    guard let pool = core as? PoolCore, pool.priority != priority else { return self }
    return ConcurrentScheduler(name: name, on: ownPool, core: pool.sibling(priority), tag: tag as? CurrentTag)
  }
}
