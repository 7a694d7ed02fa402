extension LoopScheduler {
  /// Calls `handler` whenever the loop has no more work, before it sleeps.
  ///
  /// After the call the thread polls for work for some microseconds. Then it sleeps, or another library's main loop sleeps for it. Use the hook for
  /// output that is collected during work, such as replies that are written together. Actions that `handler` schedules run before the sleep.
  ///
  /// - Parameters:
  ///   - handler: the function to call.
  ///   - onDrop: called when the hook ends on its own, with ``SchedulerError/stopped``.
  /// - Returns: a disposable that ends the hook.
  public func onBeforeSleep(
    _ handler: @escaping @Sendable () -> Void, onDrop: (@Sendable (SchedulerError) -> Void)? = nil
  ) -> any Disposable { hook(isBefore: true, handler, onDrop) }

  /// Calls `handler` when the thread has woken, or has found work instead of a sleep, before the work runs: see ``onBeforeSleep(_:onDrop:)``.
  ///
  /// - Parameters:
  ///   - handler: the function to call.
  ///   - onDrop: called when the hook ends on its own.
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
