// Unavailable overloads for actions that await or throw. The compiler's message names the call to use instead. Their
// bodies are never called.

extension ImmediateSchedulerType {
  /// Unavailable: an action cannot await or throw. The compiler's message names the alternatives.
  @available(
    *, unavailable,
    message: """
      an action neither awaits nor throws. What throws: try await scheduler.perform { … }. What awaits: \
      Task(executorPreference: scheduler) { await … } on a scheduler with threads, or an actor on it.
      """
  )
  @discardableResult
  public func schedule(_ action: @escaping @Sendable () async throws -> Void) -> any Disposable {
    NopDisposable()
  }

  /// Unavailable: the body of `perform` cannot await. The compiler's message names the alternatives.
  @available(
    *, unavailable,
    message: """
      an action does not await. On a scheduler with threads: Task(executorPreference: scheduler) { await … }.value, or an actor on it.
      """
  )
  public func perform<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
    try await body()
  }
}

extension SchedulerType {
  /// Unavailable: a delayed action cannot await or throw. The compiler's message names the alternatives.
  @available(
    *, unavailable,
    message: "an action neither awaits nor throws. Use Task { try await scheduler.sleep(for: delay); await … }."
  )
  @discardableResult
  public func schedule(after delay: Duration, _ action: @escaping @Sendable () async throws -> Void) -> any Disposable {
    NopDisposable()
  }

  /// Unavailable: a timed action cannot await or throw. The compiler's message names the alternatives.
  @available(
    *, unavailable,
    message: """
      an action neither awaits nor throws. Use Task { try await scheduler.sleep(for: delay); await … }, or \
      Task { for try await _ in scheduler.ticks(every: period) { await … } }.
      """
  )
  @discardableResult
  public func schedule(
    _ timing: ActionTiming, _ action: @escaping @Sendable () async throws -> Void
  ) -> any Disposable { NopDisposable() }
}
