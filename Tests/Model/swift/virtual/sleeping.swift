// What stands for VirtualTimeScheduler+Sleeping.swift: no task ever comes.

extension VirtualTimeScheduler {
  func sleep(until time: Instant, isolation: isolated (any Actor)?) async throws {}
}
