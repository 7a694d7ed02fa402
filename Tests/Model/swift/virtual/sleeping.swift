// What stands for VirtualTimeScheduler+Sleeping.swift: no task ever comes.

extension VirtualTimeScheduler {
  func sleep(until time: VirtualTime, isolation: isolated (any Actor)?) async throws {}
}
