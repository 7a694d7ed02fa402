extension ConcurrentScheduler {
  /// This scheduler for work of another priority: the same one, by identity, for ``Schedulers/current`` in its actions.
  package func prioritized(_ priority: SchedulerPriority) -> ConcurrentScheduler {
    if (core as? PoolCore)?.priority == priority { return self }
    return ConcurrentScheduler(name: name, core: PoolCore.shared(priority), tag: tag as? CurrentTag)
  }
}
