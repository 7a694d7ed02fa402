/// Gathers the results of actions on any schedulers, in the order in which they end.
///
/// ```swift
/// let pages = ResultGroup<Page>()
/// for url in urls { pages.schedule(on: downloads) { try fetch(url) } }
/// for await page in pages { show(try page.get()) }
/// ```
///
/// 1. Each scheduled action gives one result, which is taken once: its return value, or the error that it threw. An action that was disposed
///    before it started gives `CancellationError`; one that its scheduler dropped gives ``SchedulerError/stopped``.
/// 2. ``next()`` waits for a result, and returns `nil` when no result is left and no action is unfinished. You may schedule more then.
/// 3. A caller that takes a result sees what its action did. Any number of threads and tasks may take results; each gets different ones.
/// 4. Results that are not taken are released with the group. Releasing the group cancels nothing.
///
/// Similar to Tokio's `JoinSet`. If you need no results, use an ``ActionGroup``.
public final class ResultGroup<Value: Sendable>: Sendable {
  /// The outcome of an action.
  public typealias Element = Result<Value, any Error>

  private struct State: Sendable {
    /// The number of actions that have not ended.
    var pending = 0
    var results: ArraySlice<Element> = []
    /// Waiting tasks, first come, first served; only while there are no results.
    var waiters = FairList<Waiter>()
  }

  private let state = Protected(State())
  private let changed = UnfairLock.Condition()
  fileprivate let members = ActionGroup()

  /// Creates an empty group.
  public init() {}

  /// Schedules `action` on `scheduler` as a member whose result is taken from this group.
  ///
  /// - Parameters:
  ///   - scheduler: where it runs.
  ///   - action: what to run. Its return value or error is one result of the group.
  /// - Returns: a disposable that cancels the action; ``cancelAll()`` cancels it too. An action that has started runs to its end, and gives
  ///   its result.
  @discardableResult
  public func schedule(
    on scheduler: some ImmediateSchedulerType, _ action: @escaping @Sendable () throws -> Value
  ) -> any Disposable {
    state.withLock { $0.pending += 1 }
    return members.admit(ResultMember(of: self, action)) { member in
      let token = member.token
      token.follow(withoutRefusalLine { scheduler.schedule { member.run() } })
      return token
    }
  }

  /// Cancels all actions that have not started: each gives a `CancellationError`. Running actions continue to their end. Later actions are not
  /// cancelled.
  public func cancelAll() { members.cancelAll() }

  /// The number of actions that have not ended.
  public var pendingCount: Int { state.read { $0.pending } }

  /// Whether all actions have ended and all results have been taken.
  public var isEmpty: Bool { state.read { $0.pending == 0 && $0.results.isEmpty } }

  /// Gives `result` to the task that has waited longest. If no task waits, keeps it.
  fileprivate func end(with result: Element) {
    let (next, others, isLast) = state.withLock { state in
      state.pending -= 1
      var next: Waiter?
      while next == nil, let first = state.waiters.popFirst() {
        if first.claim() { next = first }  // else its task was cancelled
      }
      if next == nil { state.results.append(result) }
      let isLast = state.pending == 0
      var others: [Waiter] = []  // no result will come for them
      while isLast, let other = state.waiters.popFirst() { if other.claim() { others.append(other) } }
      return (next, others, isLast)
    }
    next?.finish(.success(result))
    for other in others { other.finish(.success(nil)) }
    if isLast { changed.broadcast() } else if next == nil { changed.signal() }
  }

  /// A waiting task.
  private final class Waiter: @unchecked Sendable {
    // Unchecked, because of `entry`: the group's state guards it.
    private let resumption = Resumption<Element?>()
    @exclusivity(unchecked) var entry: Int?

    var isOver: Bool { resumption.isOver }
    func claim() -> Bool { resumption.claim() }
    func outcome(isolation: isolated (any Actor)?, _ begin: () -> Void) async -> Element? {
      (try? await resumption.outcome(isolation: isolation, begin)) ?? nil  // it never ends with an error
    }
    func finish(_ outcome: Result<Element?, any Error>) { resumption.finish(outcome) }
  }

  // MARK: Taking results

  /// Waits for the next result, and takes it. Returns `nil` when no action is unfinished and no result is left. Blocks the thread.
  @available(*, noasync, message: "it blocks a thread of Swift's own: use await next()")
  public func next() -> Element? {
    state.withLock(on: changed, when: Self.isDecided) { $0.results.popFirst() }
  }

  /// As ``next()``, but waits at most `timeout`.
  ///
  /// - Parameter timeout: how long to wait at most. A timeout that is not positive does not wait.
  /// - Throws: ``SchedulerError/timeout`` if there was no result by then.
  @available(*, noasync, message: "it blocks a thread of Swift's own: use await next()")
  public func next(for timeout: Duration) throws(SchedulerError) -> Element? {
    try inTime(state.withLock(on: changed, for: timeout, when: Self.isDecided) { $0.results.popFirst() })
  }

  /// As ``next()``, but waits at most until `deadline`.
  ///
  /// - Parameter deadline: the latest instant to wait for. A deadline in the past does not wait.
  /// - Throws: ``SchedulerError/timeout`` if there was no result by then.
  @available(*, noasync, message: "it blocks a thread of Swift's own: use await next()")
  public func next(until deadline: MonotonicTime) throws(SchedulerError) -> Element? {
    try inTime(state.withLock(on: changed, until: deadline, when: Self.isDecided) { $0.results.popFirst() })
  }

  /// Whether `next` can return: there is a result, or no action is unfinished.
  private static func isDecided(_ state: State) -> Bool { !state.results.isEmpty || state.pending == 0 }

  private func inTime(_ found: Element??) throws(SchedulerError) -> Element? {
    guard let found else { throw .timeout }
    return found
  }

  /// Suspends the task until the next result, and takes it. Returns `nil` when no action is unfinished and no result is left, and as soon as the
  /// task is cancelled. Cancelling the task does not cancel the actions.
  ///
  /// - Parameter isolation: the caller's isolation, which is kept.
  public func next(isolation: isolated (any Actor)? = #isolation) async -> Element? {
    let waiter = Waiter()
    return await withTaskCancellationHandler {
      await waiter.outcome(isolation: isolation) { wait(waiter) }
    } onCancel: {
      if waiter.claim() { waiter.finish(.success(nil)) }
      state.withLock { state in
        if let entry = waiter.entry.take() { state.waiters.remove(entry) }
      }
    }
  }

  /// Suspends the task until the next result, and takes it, or until `deadline`. Returns `nil` when no action is unfinished and no result is left.
  ///
  /// - Parameters:
  ///   - deadline: the end of the wait.
  ///   - clock: the clock of `deadline`; for the time of a scheduler its ``SchedulerType/clock``.
  ///   - isolation: the caller's isolation, which is kept.
  /// - Throws: ``SchedulerError/timeout`` at the deadline; `CancellationError` if the task is cancelled first. Then no result is taken.
  public func next<C: Clock>(
    deadline: C.Instant, clock: C = ContinuousClock(), isolation: isolated (any Actor)? = #isolation
  ) async throws -> Element? {
    try await withDeadline(deadline, clock: clock, isolation: isolation) {
      let element = await next()
      if element == nil { try Task.checkCancellation() }
      return element
    }
  }

  /// Adds `waiter` to the waiting tasks, or gives it a result at once.
  private func wait(_ waiter: Waiter) {
    let found: Element?? = state.withLock { state in
      guard Self.isDecided(state) else {
        if !waiter.isOver { waiter.entry = state.waiters.append(waiter) }  // else cancelled already
        return nil
      }
      return waiter.claim() ? .some(state.results.popFirst()) : nil
    }
    if let found { waiter.finish(.success(found)) }
  }
}

extension ResultGroup: AsyncSequence {
  public typealias Failure = Never

  public func makeAsyncIterator() -> some AsyncIteratorProtocol<Element, Never> { ResultIterator(group: self) }
}

/// Takes results of a group.
private struct ResultIterator<Value: Sendable>: AsyncIteratorProtocol {
  let group: ResultGroup<Value>

  func next() async -> Result<Value, any Error>? { await group.next() }

  func next(isolation: isolated (any Actor)?) async -> Result<Value, any Error>? {
    await group.next(isolation: isolation)
  }
}

/// An action that gives one result: at the end of its run, or when it is released without a run.
private final class ResultMember<Value: Sendable>: GroupMember, @unchecked Sendable {
  // Unchecked, like the superclass.
  private let results: ResultGroup<Value>
  let token = ResultToken()
  /// Set until the action has run.
  @exclusivity(unchecked) private var action: (@Sendable () throws -> Value)?

  init(of results: ResultGroup<Value>, _ action: @escaping @Sendable () throws -> Value) {
    self.results = results
    self.action = action
    super.init(of: results.members)
  }

  deinit {
    guard action.take() != nil else { return }
    let isDisposed = token.isDisposed
    token.end()
    results.end(with: .failure(isDisposed ? CancellationError() : SchedulerError.stopped))
  }

  func run() {
    let result = callOnce()
    token.end()
    results.end(with: result)
    end()
  }

  /// A separate function, so that the captures are released before the result is taken.
  @inline(never)
  private func callOnce() -> Result<Value, any Error> {
    let action = action.take()!
    return Result { try withRefusalLine(action) }
  }
}
