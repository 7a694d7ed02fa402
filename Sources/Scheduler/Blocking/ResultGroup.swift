/// Gathers the results of actions on any schedulers, in the order in which they end.
///
/// ```swift
/// let pages = ResultGroup<Page>()
/// for url in urls { pages.schedule(on: downloads) { try fetch(url) } }
/// for await page in pages { show(try page.get()) }
/// ```
///
/// 1. Each scheduled action produces one result: its return value, or the error that it threw. An action that was disposed before it started
///    produces `CancellationError`. An action that its scheduler refused or dropped produces ``SchedulerError/stopped``.
/// 2. ``next()`` waits for a result. It returns `nil` when no result remains and no action is unfinished. You may schedule more actions then.
/// 3. Each result is returned once. Any number of threads and tasks may call ``next()``. The caller sees everything that the action did.
/// 4. Results that no caller has received are released with the group. Releasing the group cancels nothing.
///
/// Similar to Tokio's `JoinSet`. If you need no results, use an ``ActionGroup``.
public final class ResultGroup<Value: Sendable>: Sendable {
  /// The outcome of an action.
  public typealias Element = Result<Value, any Error>

  private struct State: Sendable {
    var pending = 0  // the number of actions that have not produced their result
    var results: ArraySlice<Element> = []  // not received yet, the oldest first
    // the tasks that wait in `next`, in order of arrival; empty while there are results
    var waiters = FairList<Waiter>()
  }

  private let state = Protected(State())
  private let changed = UnfairLock.Condition()  // signalled when a thread that blocks in `next` can return
  fileprivate let members = ActionGroup()  // the unfinished actions, for `cancelAll`

  /// Creates an empty group.
  public init() {}

  /// Schedules `action` on `scheduler` as a member of this group. ``next()`` returns its result.
  ///
  /// - Parameters:
  ///   - scheduler: where it runs.
  ///   - action: what to run. Its return value or error is one result of the group.
  /// - Returns: a disposable that cancels the action, as ``cancelAll()`` does. A started action runs to its end, and produces its result.
  @discardableResult
  public func schedule(
    on scheduler: some ImmediateSchedulerType, _ action: @escaping @Sendable () throws -> Value
  ) -> any Disposable {
    state.withLock { $0.pending += 1 }  // before the submission, in which the action may run and end
    return members.admit(ResultMember(of: self, action)) { member in
      let token = member.token
      // If the scheduler refuses the action, its result is `.stopped`. So a debug build need not print a line about the refusal.
      // `follow`: from now on disposing the token disposes the scheduled action.
      token.follow(withoutRefusalLine { scheduler.schedule { member.run() } })
      return token
    }
  }

  /// Cancels all actions that have not started: each produces a `CancellationError`. Running actions, and actions scheduled later, are not cancelled.
  public func cancelAll() { members.cancelAll() }

  /// The number of actions that have not ended.
  public var pendingCount: Int { state.read { $0.pending } }

  /// Whether all actions have ended and all results have been returned.
  public var isEmpty: Bool { state.read { $0.pending == 0 && $0.results.isEmpty } }

  /// Called once for each action, with its result. Resumes the task that has waited longest with `result`, or stores `result` if no task waits. If
  /// all actions have ended, resumes the other waiting tasks with nil.
  fileprivate func end(with result: Element) {
    let (receiver, others, isLast) = state.withLock { state in
      state.pending -= 1
      var receiver: Waiter?  // the task that gets `result`
      while receiver == nil, let first = state.waiters.popFirst() {
        if first.claim() { receiver = first }  // false: the task was cancelled, and is not given the result
      }
      if receiver == nil { state.results.append(result) }
      let isLast = state.pending == 0  // no action is unfinished
      var others: [Waiter] = []  // waiters for which no result remains
      while isLast, let other = state.waiters.popFirst() { if other.claim() { others.append(other) } }
      return (receiver, others, isLast)
    }
    receiver?.finish(.success(result))
    for other in others { other.finish(.success(nil)) }
    // the last result: all blocked threads can return; a stored result: one can
    if isLast { changed.broadcast() } else if receiver == nil { changed.signal() }
  }

  /// A task that is suspended in `next`. The thread that wins `claim` resumes it: one that ends an action, or the task's cancellation.
  private final class Waiter: @unchecked Sendable {
    // Unchecked, because of `entry`: the lock of the group's state guards it.
    private let resumption = Resumption<Element?>()
    @exclusivity(unchecked) var entry: Int?  // the key in `waiters`, while listed

    var isOver: Bool { resumption.isOver }
    func claim() -> Bool { resumption.claim() }  // true for the first caller, which must then call `finish`
    func outcome(isolation: isolated (any Actor)?, _ begin: () -> Void) async -> Element? {
      (try? await resumption.outcome(isolation: isolation, begin)) ?? nil  // `finish` is never given an error
    }
    func finish(_ outcome: Result<Element?, any Error>) { resumption.finish(outcome) }
  }

  // MARK: Receiving results

  /// Blocks until there is a result; removes and returns it. Returns `nil` when no action is unfinished and no result remains.
  @available(*, noasync, message: "it blocks a thread of Swift's own: use await next()")
  public func next() -> Element? {
    state.withLock(on: changed, when: Self.canReturn) { $0.results.popFirst() }
  }

  /// As ``next()``, but waits at most `timeout`.
  ///
  /// - Parameter timeout: how long to wait at most. A timeout that is not positive does not wait.
  /// - Throws: ``SchedulerError/timeout`` if there was no result by then.
  @available(*, noasync, message: "it blocks a thread of Swift's own: use await next()")
  public func next(for timeout: Duration) throws(SchedulerError) -> Element? {
    try orTimeout(state.withLock(on: changed, for: timeout, when: Self.canReturn) { $0.results.popFirst() })
  }

  /// As ``next()``, but waits at most until `deadline`.
  ///
  /// - Parameter deadline: the latest instant to wait for. A deadline in the past does not wait.
  /// - Throws: ``SchedulerError/timeout`` if there was no result by then.
  @available(*, noasync, message: "it blocks a thread of Swift's own: use await next()")
  public func next(until deadline: MonotonicTime) throws(SchedulerError) -> Element? {
    try orTimeout(state.withLock(on: changed, until: deadline, when: Self.canReturn) { $0.results.popFirst() })
  }

  /// Whether `next` can return: there is a result, or no action is unfinished (then it returns nil).
  private static func canReturn(_ state: State) -> Bool { !state.results.isEmpty || state.pending == 0 }

  /// Unwraps what a timed wait returned. `nil`: the wait timed out, and this throws `timeout`. `.some(nil)`: no result remains, and this returns nil.
  private func orTimeout(_ found: Element??) throws(SchedulerError) -> Element? {
    guard let found else { throw .timeout }
    return found
  }

  /// Suspends the task until there is a result, removes it from the group, and returns it. Returns `nil` when no action is unfinished and no result
  /// remains, and as soon as the task is cancelled. Cancelling the task does not cancel the actions.
  ///
  /// - Parameter isolation: the caller's isolation, in which this function runs.
  public func next(isolation: isolated (any Actor)? = #isolation) async -> Element? {
    let waiter = Waiter()
    return await withTaskCancellationHandler {
      await waiter.outcome(isolation: isolation) { enqueue(waiter) }
    } onCancel: {  // resumes the task with nil, unless another thread gives it a result; then removes it from `waiters`
      if waiter.claim() { waiter.finish(.success(nil)) }
      state.withLock { state in
        if let entry = waiter.entry.take() { state.waiters.remove(entry) }
      }
    }
  }

  /// Suspends the task until there is a result, at most until `deadline`; removes and returns it. Returns `nil` as ``next()`` does.
  ///
  /// - Parameters:
  ///   - deadline: the end of the wait.
  ///   - clock: the clock of `deadline`; for the time of a scheduler its ``SchedulerType/clock``.
  ///   - isolation: the caller's isolation, in which this function runs.
  /// - Throws: ``SchedulerError/timeout`` at the deadline; `CancellationError` if the task is cancelled first. In both cases no result is removed.
  public func next<C: Clock>(
    deadline: C.Instant, clock: C = ContinuousClock(), isolation: isolated (any Actor)? = #isolation
  ) async throws -> Element? {
    try await withDeadline(deadline, clock: clock, isolation: isolation) {
      let element = await next()
      if element == nil { try Task.checkCancellation() }  // nil: cancelled, or no result remains
      return element
    }
  }

  /// Adds `waiter` to the waiting tasks. If `next` can return, resumes it at once with the oldest result, or with nil if none remains.
  private func enqueue(_ waiter: Waiter) {
    let found: Element?? = state.withLock { state in
      guard Self.canReturn(state) else {
        // over: cancelled already. The cancellation may have looked for the entry before this, so none is added.
        if !waiter.isOver { waiter.entry = state.waiters.append(waiter) }
        return nil
      }
      return waiter.claim() ? .some(state.results.popFirst()) : nil  // nil: cancelled, so no result is removed
    }
    if let found { waiter.finish(.success(found)) }
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

/// An action of a ResultGroup. It reports one result: at the end of its run, or when its closure is released without a run.
private final class ResultMember<Value: Sendable>: GroupMember, @unchecked Sendable {
  // Unchecked, as its superclass is.
  private let results: ResultGroup<Value>
  let token = ResultToken()
  @exclusivity(unchecked) private var action: (@Sendable () throws -> Value)?  // nil after the run

  init(of results: ResultGroup<Value>, _ action: @escaping @Sendable () throws -> Value) {
    self.results = results
    self.action = action
    super.init(of: results.members)
  }

  deinit {
    guard action.take() != nil else { return }  // nil: `run` has reported the result
    let isDisposed = token.isDisposed  // before `end`, which sets it too
    token.end()
    results.end(with: .failure(isDisposed ? CancellationError() : SchedulerError.stopped))
  }

  /// Runs the action, and reports its result after the captures are released. Then leaves the group.
  func run() {
    let result = callOnce()
    token.end()
    results.end(with: result)
    end()
  }

  /// Calls and releases the action. Not inlined, so that the captures are released before `run` reports the result.
  @inline(never)
  private func callOnce() -> Result<Value, any Error> {
    let action = action.take()!
    return Result { try withRefusalLine(action) }  // refusals of what the action submits are printed, unlike its own
  }
}
