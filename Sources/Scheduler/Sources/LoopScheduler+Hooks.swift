extension LoopScheduler {
  /// Calls `handler` whenever nothing is left to do, before the thread looks for work for some microseconds, then sleeps, or leaves that to another
  /// library's main loop: for what is collected while there is work, as answers that are written together. What it schedules runs before the sleep.
  ///
  /// - Parameters:
  ///   - handler: what is called.
  ///   - onDrop: told when it ends by itself: ``SchedulerError/stopped``.
  /// - Returns: what ends it.
  public func onBeforeSleep(
    _ handler: @escaping @Sendable () -> Void, onDrop: (@Sendable (SchedulerError) -> Void)? = nil
  ) -> any Disposable { hook(isBefore: true, handler, onDrop) }

  /// Calls `handler` when the thread has woken, or has found work in place of a sleep, before that runs: see ``onBeforeSleep(_:onDrop:)``.
  ///
  /// - Parameters:
  ///   - handler: what to do then.
  ///   - onDrop: told when the hook ends by itself.
  public func onAfterWake(
    _ handler: @escaping @Sendable () -> Void, onDrop: (@Sendable (SchedulerError) -> Void)? = nil
  ) -> any Disposable { hook(isBefore: false, handler, onDrop) }

  private func hook(
    isBefore: Bool, _ handler: @escaping @Sendable () -> Void, _ onDrop: (@Sendable (SchedulerError) -> Void)?
  ) -> any Disposable {
    let source = HookSource(isBefore: isBefore, on: self, onDrop: onDrop) { handler() }
    source.begin()
    return source
  }
}
