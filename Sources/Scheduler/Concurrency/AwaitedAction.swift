internal import CScheduler

/// An action that a task waits for. Only the scheduler's closure retains this object, so `deinit` without a run means
/// that the action was dropped.
final class AwaitedAction<Value>: @unchecked Sendable {
  // Unchecked, because only the thread that has claimed the resumption reads and clears `body`.
  private let resumption: Resumption<Value>
  private var body: (() throws -> Value)?
  private let target: UnsafeMutablePointer<csched_target>?  // the target of `scheduler` in `init`; nil without one

  /// - Parameters:
  ///   - resumption: the resumption that receives the outcome of the action.
  ///   - body: the function that ``run()`` calls.
  ///   - scheduler: the scheduler that the action is submitted to. Requires: the call of ``run()`` is the final step of
  ///     the scheduler's job.
  init(
    _ resumption: Resumption<Value>, _ body: (() throws -> Value)? = nil, on scheduler: SchedulerTarget? = nil
  ) {
    self.resumption = resumption
    self.body = body
    target = scheduler?.core.target
  }

  deinit { if resumption.claim() { resumption.finish(.failure(DroppedAction())) } }  // the action was dropped

  /// Calls `body`, and resumes the task with its result or error. Does nothing if a cancellation or the deadline has
  /// ended the wait.
  func run(_ body: () throws -> Value) {
    if resumption.claim() { resumption.finish(Result { try withRefusalLine(body) }) }
  }

  /// As `run(_:)`, with the body given to `init`. The body and its captures are released before the task continues.
  func run() {
    if resumption.claim() { resumption.finish(takeOutcome(), finalStepOf: target) }
  }

  /// Calls and releases the body. Returns its result or error; without a body, the failure `.stopped`.
  private func takeOutcome() -> Result<Value, any Error> {
    guard let body = body.take() else { return .failure(SchedulerError.stopped) }
    return Result { try withRefusalLine(body) }  // refusals of what `body` submits are printed
  }
}

/// The action of a waiting task was released without a run.
struct DroppedAction: Error {
  /// What the task throws. `members`: what its action is in groups, whose cancellation has released it. `isFull`: the
  /// scheduler had no room for it.
  static func error(of members: ListedMembers, isFull: Bool = false) -> any Error {
    members.areCancelled ? CancellationError() : isFull ? SchedulerError.refused : .stopped
  }
}

extension ImmediateSchedulerType {
  /// Suspends the task until the action that `submit` schedules has run or was dropped. Before its start, a
  /// cancellation or `deadline` ends the wait.
  func awaiting<Value>(
    isolation: isolated (any Actor)?, deadline: AnyDeadline? = nil, _ body: sending (() throws -> Value)? = nil,
    _ submit: (AwaitedAction<Value>) -> any Disposable
  ) async throws -> sending Value {
    let resumption = Resumption<Value>(), token = SingleAssignmentDisposable()  // token: cancels the action
    let timer = deadline?.start {  // does nothing if the action has started
      if resumption.claim() { resumption.finish(.failure($0)) }
      token.dispose()
    }
    defer { timer?.cancel() }
    // Only the scheduler's closure may retain the action: `take` below moves it out of this frame. So the thread that
    // runs it releases its captures.
    var action: AwaitedAction? = AwaitedAction(resumption, consume body, on: self as? SchedulerTarget)
    nonisolated(unsafe) let value = try await withTaskCancellationHandler {
      var members = ListedMembers(), isFull = false
      do {
        return try await resumption.outcome(isolation: isolation) {
          let submitted: any Disposable  // without the line, because a refusal reaches the task as an error
          (members, submitted) = ListedMembers.noting { withoutRefusalLine { submit(action.take()!) } }
          isFull = submitted.isDisposed && isBounded  // if so, and the action has not run
          token.setDisposable(submitted)
        }
      } catch is DroppedAction { throw DroppedAction.error(of: members, isFull: isFull) }
    } onCancel: {
      if resumption.claim() { resumption.finish(.failure(CancellationError())) }
      token.dispose()
    }
    return value  // `nonisolated(unsafe)` is safe: this is the only reference to the value
  }

  /// Calls `body` as an action of this scheduler, suspends the task until it has returned, and returns its result or
  /// throws its error.
  ///
  /// ```swift
  /// let count = try await database.perform { try count(entries) }
  /// ```
  ///
  /// 1. If the task is cancelled before the action starts, the task continues at once, and the action never starts. If
  ///    it is cancelled later, it waits for the action to end, and gets its result.
  /// 2. The task continues on its own actor or executor, not on the scheduler.
  /// 3. If the scheduler is on a pool, with a lower priority than the task, the task donates its priority until the
  ///    wait ends, as `sync` does.
  ///    The priority is the one that the task has when the wait begins.
  ///
  /// - Parameters:
  ///   - isolation: the caller's isolation, in which this function runs.
  ///   - body: the function to call, at most once.
  /// - Returns: the result of `body`. It need not be `Sendable`, because it is transferred to the task.
  /// - Throws: the error of `body`; `CancellationError` if the task was cancelled before the action started;
  ///   ``SchedulerError/stopped`` if the scheduler dropped the action; ``SchedulerError/refused`` if it was full.
  public func perform<Value>(
    isolation: isolated (any Actor)? = #isolation, _ body: sending @escaping () throws -> sending Value
  ) async throws -> sending Value {
    let donation = PriorityDonation(to: self)
    defer { donation?.end() }
    return try await awaiting(isolation: isolation, consume body) { action in schedule { action.run() } }
  }

  /// Calls `body` as an action of this scheduler, as `perform { … }` does, if the action starts before `deadline`.
  ///
  /// ```swift
  /// let count = try await database.perform(deadline: .now + .seconds(1)) { try count(entries) }
  /// ```
  ///
  /// - Parameters:
  ///   - deadline: when the action must have started. It may run longer. If the deadline has passed already, the action
  ///     never starts.
  ///   - clock: the clock of `deadline`; for the time of a scheduler its ``SchedulerType/clock``.
  ///   - isolation: the caller's isolation, in which this function runs.
  ///   - body: the function to call, at most once.
  /// - Returns: the result of `body`. It need not be `Sendable`, because it is transferred to the task.
  /// - Throws: what `perform { … }` throws; ``SchedulerError/timeout`` if the action has not started by `deadline`.
  public func perform<Value, C: Clock>(
    deadline: C.Instant, clock: C = ContinuousClock(), isolation: isolated (any Actor)? = #isolation,
    _ body: sending @escaping () throws -> sending Value
  ) async throws -> sending Value {
    let deadline = AnyDeadline(deadline, clock)
    if deadline.hasPassed() {
      try Task.checkCancellation()
      throw SchedulerError.timeout
    }
    let donation = PriorityDonation(to: self)
    defer { donation?.end() }
    return try await awaiting(isolation: isolation, deadline: deadline, consume body) { action in
      schedule { action.run() }
    }
  }

  /// Calls `body` as ``perform(deadline:clock:isolation:_:)`` does, without a clock; inside `withVirtualTime` the
  /// deadline is of that time.
  ///
  /// - Parameters:
  ///   - deadline: when the action must have started. It may run longer. If the deadline has passed already, the action
  ///     never starts.
  ///   - isolation: the caller's isolation, in which this function runs.
  ///   - body: the function to call, at most once.
  /// - Returns: the result of `body`. It need not be `Sendable`, because it is transferred to the task.
  /// - Throws: what ``perform(deadline:clock:isolation:_:)`` throws.
  public func perform<Value>(
    deadline: Deadline, isolation: isolated (any Actor)? = #isolation,
    _ body: sending @escaping () throws -> sending Value
  ) async throws -> sending Value {
    try await perform(deadline: deadline, clock: DeadlineClock(), isolation: isolation, consume body)
  }

  /// Calls `body` as an action of this scheduler, as the first `perform` does. This overload is for a `body` that is a
  /// stored function. The type of such a function has no `sending` result, so the result must be `Sendable`.
  ///
  /// - Parameters:
  ///   - isolation: the caller's isolation, in which this function runs.
  ///   - body: the function to call, at most once.
  /// - Returns: the result of `body`.
  /// - Throws: what the first `perform` throws.
  public func perform<Value: Sendable>(
    isolation: isolated (any Actor)? = #isolation, _ body: sending @escaping () throws -> Value
  ) async throws -> Value {
    let donation = PriorityDonation(to: self)
    defer { donation?.end() }
    return try await awaiting(isolation: isolation, consume body) { action in schedule { action.run() } }
  }
}

/// A donation of a waiting task's priority to a scheduler on a pool, until ``end()``: see `csched_target_lend`.
struct PriorityDonation {
  private let scheduler: SchedulerTarget  // retains the target
  private let priority: csched_priority  // the donated priority

  /// Donates the current task's priority. Returns nil, and donates nothing, unless `scheduler` is on a pool with a
  /// lower priority.
  init?(to scheduler: some ImmediateSchedulerType) {
    guard let target = scheduler.unwrapped as? SchedulerTarget else { return nil }
    self.scheduler = target
    priority = SchedulerPriority(Task.currentPriority).core
    guard csched_target_lend(target.core.target, priority) else { return nil }
  }

  /// Ends the donation.
  func end() { csched_target_take_back(scheduler.core.target, priority) }
}
