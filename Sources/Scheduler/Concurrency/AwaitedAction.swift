internal import CScheduler

/// An action that a task waits for. Only the scheduler's closure holds it, so that its end tells of a drop.
final class AwaitedAction<Value>: @unchecked Sendable {
  // Unchecked, because `body` is taken by the one thread that has claimed the outcome.
  private let resumption: Resumption<Value>
  private var body: (() throws -> Value)?
  private let target: UnsafeMutablePointer<csched_target>?

  /// - Parameters:
  ///   - resumption: what the task waits for.
  ///   - body: what ``run()`` calls.
  ///   - scheduler: the scheduler that the action is submitted to, if its job does nothing but run the action.
  init(
    _ resumption: Resumption<Value>, _ body: (() throws -> Value)? = nil, on scheduler: SchedulerTarget? = nil
  ) {
    self.resumption = resumption
    self.body = body
    target = scheduler?.core.target
  }

  deinit { if resumption.claim() { resumption.finish(.failure(SchedulerError.stopped)) } }

  /// Calls `body`, unless the task was cancelled before.
  func run(_ body: () throws -> Value) {
    if resumption.claim() { resumption.finish(Result { try withRefusalLine(body) }) }
  }

  /// The same with the body that it was made with. That and its captures are released before the task goes on.
  func run() {
    if resumption.claim() { resumption.finish(takeOutcome(), lastOf: target) }
  }

  private func takeOutcome() -> Result<Value, any Error> {
    guard let body = body.take() else { return .failure(SchedulerError.stopped) }
    return Result { try withRefusalLine(body) }
  }
}

extension ImmediateSchedulerType {
  /// Suspends the task until the action that `submit` schedules has run, or was dropped, or the task is cancelled before it begins.
  func awaiting<Value>(
    isolation: isolated (any Actor)?, _ body: sending (() throws -> Value)? = nil,
    _ submit: (AwaitedAction<Value>) -> any Disposable
  ) async throws -> sending Value {
    let resumption = Resumption<Value>(), token = SingleAssignmentDisposable()
    // Nothing here keeps the action, or what it captures: it ends where it has run.
    var action: AwaitedAction? = AwaitedAction(resumption, consume body, on: self as? SchedulerTarget)
    nonisolated(unsafe) let value = try await withTaskCancellationHandler {
      try await resumption.outcome(isolation: isolation) {
        token.setDisposable(withoutRefusalLine { submit(action.take()!) })
      }
    } onCancel: {
      if resumption.claim() { resumption.finish(.failure(CancellationError())) }
      token.dispose()
    }
    return value  // no other reference to it is left
  }

  /// Has `body` called as an action of this scheduler, suspends the task until it has returned, and returns its result or throws its error.
  ///
  /// ```swift
  /// let count = try await database.perform { try count(entries) }
  /// ```
  ///
  /// 1. A task that is cancelled before the action begins goes on at once, and the action never begins. One that is cancelled later waits for
  ///    the action's end, and gets its result.
  /// 2. The task goes on where it belongs, not on the scheduler.
  /// 3. While it waits for a queue on a pool of a lower priority, it lends that the priority that it has at the beginning, as `sync` does.
  ///
  /// - Parameters:
  ///   - isolation: the caller's, which it keeps.
  ///   - body: what to do there. It is not called more than once.
  /// - Returns: what `body` returns, which need not be `Sendable`: it is the task's then.
  /// - Throws: what `body` throws; `CancellationError` when the task was cancelled before it began; ``SchedulerError/stopped`` when the scheduler dropped it.
  public func perform<Value>(
    isolation: isolated (any Actor)? = #isolation, _ body: sending @escaping () throws -> sending Value
  ) async throws -> sending Value {
    let lent = LentPriority(to: self)
    defer { lent?.takeBack() }
    return try await awaiting(isolation: isolation, consume body) { action in schedule { action.run() } }
  }

  /// The same for a function that is no closure expression, and whose result is `Sendable`.
  ///
  /// - Parameters:
  ///   - isolation: the caller's, which it keeps.
  ///   - body: what to do there. It is not called more than once.
  public func perform<Value: Sendable>(
    isolation: isolated (any Actor)? = #isolation, _ body: sending @escaping () throws -> Value
  ) async throws -> Value {
    let lent = LentPriority(to: self)
    defer { lent?.takeBack() }
    return try await awaiting(isolation: isolation, consume body) { action in schedule { action.run() } }
  }
}
