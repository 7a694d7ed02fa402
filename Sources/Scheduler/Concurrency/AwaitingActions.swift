// An action neither suspends nor throws. Who writes one that does is told by the compiler what to write instead.

extension ImmediateSchedulerType {
  /// An action neither awaits nor throws: see what the message names.
  @available(
    *, unavailable,
    message: """
      an action neither awaits nor throws. What throws: try await scheduler.perform { … }. What awaits: \
      Task(executorPreference: scheduler) { await … } on a scheduler with threads, or an actor on it.
      """
  )
  @discardableResult
  @_disfavoredOverload
  public func schedule(_ action: @escaping @Sendable () async throws -> Void) -> any Cancelable {
    Disposables.create()
  }
}

extension SchedulerType {
  /// A delayed action neither awaits nor throws: see what the message names.
  @available(
    *, unavailable,
    message: "an action neither awaits nor throws. Use Task { try await scheduler.sleep(for: delay); await … }."
  )
  @discardableResult
  @_disfavoredOverload
  public func schedule(after delay: Duration, _ action: @escaping @Sendable () async throws -> Void) -> any Cancelable {
    Disposables.create()
  }

  /// A repeated action neither awaits nor throws: see what the message names.
  @available(
    *, unavailable,
    message: """
      an action neither awaits nor throws. Use Task { for try await _ in scheduler.ticks(every: period) { await … } }.
      """
  )
  @discardableResult
  @_disfavoredOverload
  public func schedule(
    after delay: Duration, repeating period: Duration, _ action: @escaping @Sendable () async throws -> Void
  ) -> any Cancelable { Disposables.create() }
}
