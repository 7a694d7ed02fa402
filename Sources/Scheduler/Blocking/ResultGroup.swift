/// Gathers the results of actions on any schedulers, in the order in which they end.
///
/// ```swift
/// let pages = ResultGroup<Page>()
/// for url in urls { pages.schedule(on: downloads) { try fetch(url) } }
/// for await page in pages { show(try page.get()) }
/// ```
///
/// 1. Each scheduled action produces one result: its return value, or the error that it threw. An action that was
///    disposed before it started produces `CancellationError`. An action that its scheduler refused or dropped produces
///    ``SchedulerError/stopped``, or on a scheduler with a bound ``SchedulerError/refused``.
/// 2. ``next()`` waits for a result. It returns `nil` when no result remains and no action is unfinished. You may
///    schedule more actions then.
/// 3. Each result is returned once. Any number of threads and tasks may call ``next()``. The caller sees everything
///    that the action did.
/// 4. Results that no caller has received are released with the group. Releasing the group cancels nothing.
///
/// Similar to Tokio's `JoinSet`. If you need no results, use an ``ActionGroup``.
public final class ResultGroup<Value: Sendable>: Sendable {
  /// The outcome of an action.
  public typealias Element = Result<Value, any Error>

  private let queue = ResultQueue()

  /// Creates an empty group.
  public init() {}

  /// Schedules `action` on `scheduler` as a member of this group. ``next()`` returns its result.
  ///
  /// - Parameters:
  ///   - scheduler: where it runs.
  ///   - action: what to run. Its return value or error is one result of the group.
  /// - Returns: a disposable that cancels the action, as ``cancelAll()`` does. A started action runs to its end, and
  ///   produces its result.
  @discardableResult
  public func schedule(
    on scheduler: some ImmediateSchedulerType, _ action: @escaping @Sendable () throws -> Value
  ) -> any Disposable {
    queue.begin()  // before the submission, in which the action may run and end
    return queue.members.admit(ResultMember(of: queue, action)) { member in
      let token = member.token
      // If the scheduler refuses the action, its result says so. So a debug build need not print a line about the
      // refusal.
      let submitted = withoutRefusalLine { scheduler.schedule { member.run() } }
      member.isFull = scheduler.isBounded && submitted.isDisposed  // if so, and the action has not run
      token.follow(submitted)  // from now on disposing the token disposes the scheduled action
      return token
    }
  }

  /// Cancels all actions that have not started: each produces a `CancellationError`. Running actions, and actions
  /// scheduled later, are not cancelled.
  public func cancelAll() { queue.members.cancelAll() }

  /// The number of actions that have not ended.
  public var pendingCount: Int { queue.pendingCount }

  /// Whether all actions have ended and all results have been returned.
  public var isEmpty: Bool { queue.isEmpty }

  // MARK: Receiving results

  /// Blocks until there is a result; removes and returns it. Returns `nil` when no action is unfinished and no result
  /// remains.
  @available(*, noasync, message: "it blocks a thread of Swift's own: use await next()")
  public func next() -> Element? { queue.next().map(result(of:)) }

  /// As ``next()``, but waits at most `timeout`.
  ///
  /// - Parameter timeout: how long to wait at most. A timeout that is not positive does not wait.
  /// - Throws: ``SchedulerError/timeout`` if there was no result by then.
  @available(*, noasync, message: "it blocks a thread of Swift's own: use await next()")
  public func next(for timeout: Duration) throws(SchedulerError) -> Element? {
    try next(until: MonotonicTime(nanoseconds: timeout.deadline))
  }

  /// As ``next()``, but waits at most until `deadline`.
  ///
  /// - Parameter deadline: the latest instant to wait for. A deadline in the past does not wait.
  /// - Throws: ``SchedulerError/timeout`` if there was no result by then.
  @available(*, noasync, message: "it blocks a thread of Swift's own: use await next()")
  public func next(until deadline: MonotonicTime) throws(SchedulerError) -> Element? {
    guard let found = queue.next(until: deadline) else { throw .timeout }
    return found.map(result(of:))
  }

  /// The result of `ended`, an action of this group.
  private func result(of ended: ResultQueue.Ended) -> Element {
    switch ended {
    case .ran(let member): unsafeDowncast(member, to: ResultMember<Value>.self).takeResult()
    case .failed(let error): .failure(error)
    }
  }

  /// Suspends the task until there is a result, removes it from the group, and returns it. Returns `nil` when no action
  /// is unfinished and no result remains, and as soon as the task is cancelled. Cancelling the task does not cancel the
  /// actions.
  ///
  /// - Parameter isolation: the caller's isolation, in which this function runs.
  public func next(isolation: isolated (any Actor)? = #isolation) async -> Element? {
    await queue.next(isolation: isolation).map(result(of:))
  }

  /// Suspends the task until there is a result, at most until `deadline`; removes and returns it. Returns `nil` as
  /// ``next()`` does.
  ///
  /// - Parameters:
  ///   - deadline: the end of the wait.
  ///   - clock: the clock of `deadline`; for the time of a scheduler its ``SchedulerType/clock``.
  ///   - isolation: the caller's isolation, in which this function runs.
  /// - Throws: ``SchedulerError/timeout`` at the deadline; `CancellationError` if the task is cancelled first. In both
  ///   cases no result is removed.
  public func next<C: Clock>(
    deadline: C.Instant, clock: C = ContinuousClock(), isolation: isolated (any Actor)? = #isolation
  ) async throws -> Element? {
    try await withDeadline(deadline, clock: clock, isolation: isolation) {
      let element = await next()
      if element == nil { try Task.checkCancellation() }  // nil: cancelled, or no result remains
      return element
    }
  }

  /// Waits as ``next(deadline:clock:isolation:)`` does, without a clock; inside `withVirtualTime` on that time.
  ///
  /// - Parameters:
  ///   - deadline: the end of the wait.
  ///   - isolation: the caller's isolation, in which this function runs.
  /// - Throws: what ``next(deadline:clock:isolation:)`` throws.
  public func next(deadline: Deadline, isolation: isolated (any Actor)? = #isolation) async throws -> Element? {
    try await next(deadline: deadline, clock: DeadlineClock(), isolation: isolation)
  }
}

extension ResultGroup: AsyncSequence {
  public typealias Failure = Never

  public func makeAsyncIterator() -> some AsyncIteratorProtocol<Element, Never> { ResultIterator(group: self) }
}

private struct ResultIterator<Value: Sendable>: AsyncIteratorProtocol {
  let group: ResultGroup<Value>

  func next() async -> Result<Value, any Error>? { await group.next() }

  func next(isolation: isolated (any Actor)?) async -> Result<Value, any Error>? {
    await group.next(isolation: isolation)
  }
}

/// An action of a ResultGroup. It produces one result: at the end of its run, or when its closure is released without a
/// run.
private final class ResultMember<Value: Sendable>: GroupMember, @unchecked Sendable {
  // Unchecked: the thread that runs the action accesses the fields; then the thread that receives the result, or
  // `deinit`.
  @exclusivity(unchecked) private var queue: ResultQueue?  // nil after the run: the queue then retains this member
  let token = ResultToken()
  // the scheduler had no room for the action; set before the submitter releases the member
  @exclusivity(unchecked) var isFull = false
  @exclusivity(unchecked) private var action: (@Sendable () throws -> Value)?  // nil after the run
  @exclusivity(unchecked) private var result: Result<Value, any Error>?  // set by the run, until it is received

  init(of queue: ResultQueue, _ action: @escaping @Sendable () throws -> Value) {
    self.queue = queue
    self.action = action
    super.init(of: queue.members)
  }

  deinit {
    guard action.take() != nil else { return }  // nil: `run` has reported the result
    let isDisposed = token.isDisposed  // before `end`, which sets it too
    token.end()
    queue!.end(.failed(isDisposed ? CancellationError() : isFull ? SchedulerError.refused : .stopped))
  }

  /// Runs the action, and reports its result after the captures are released. Then leaves the group.
  func run() {
    callOnce()
    token.end()
    queue.take()!.end(.ran(self))
    end()
  }

  /// Calls and releases the action. Not inlined, so that the captures are released before `run` reports the result.
  @inline(never)
  private func callOnce() {
    let action = action.take()!
    result = Result { try withRefusalLine(action) }  // refusals of what the action submits are printed, unlike its own
  }

  /// Removes the result. Requires: `run` has reported the end.
  func takeResult() -> Result<Value, any Error> { result.take()! }
}
