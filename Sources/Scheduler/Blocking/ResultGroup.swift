/// Gathers the results of actions on any schedulers, in the order in which they end.
///
/// ```swift
/// let pages = ResultGroup<Page>()
/// for url in urls { pages.schedule(on: downloads) { try fetch(url) } }
/// for await page in pages { show(try page.get()) }
/// ```
///
/// 1. Each action that is scheduled gives one result, which is taken once: what it returned, or the error that it threw; `CancellationError` of one that
///    was disposed before it began; ``SchedulerError/stopped`` of one that its scheduler dropped.
/// 2. ``next()`` waits for a result, and gives `nil` when none is left and nothing is under way. More may be scheduled then, and waited for.
/// 3. Who takes a result sees what its action did. Any number of threads and tasks may take results; each gets others.
/// 4. Results that nobody takes end with the group. To let go of it cancels nothing.
///
/// As Tokio's `JoinSet`; where only the end matters, take an ``ActionGroup``.
public final class ResultGroup<Value: Sendable>: Sendable {
  /// What became of an action.
  public typealias Element = Result<Value, any Error>

  private struct State: Sendable {
    /// How many actions have not ended.
    var pending = 0
    var results: ArraySlice<Element> = []
    /// Tasks that wait, first come first; only while there are no results.
    var waiters = FairList<Waiter>()
  }

  private let state = Protected(State())
  private let changed = UnfairLock.Condition()
  fileprivate let members = ActionGroup()

  /// Makes a group with nothing under way.
  public init() {}

  /// Schedules `action` on `scheduler`, as one whose result is taken here.
  ///
  /// - Parameters:
  ///   - scheduler: where it runs.
  ///   - action: what to run. What it returns or throws is one result of the group.
  /// - Returns: what cancels it; ``cancelAll()`` does, too. One that has begun runs to its end, and gives what it returns.
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

  /// Cancels all that has not begun: each gives a `CancellationError`. What has begun ends by itself, and what comes later is not concerned.
  public func cancelAll() { members.cancelAll() }

  /// How many actions have not ended.
  public var pendingCount: Int { state.read { $0.pending } }

  /// Whether nothing is under way, and no result is left to take.
  public var isEmpty: Bool { state.read { $0.pending == 0 && $0.results.isEmpty } }

  /// Gives `result` to the task that has waited longest, or else keeps it.
  fileprivate func end(with result: Element) {
    let (told, others, isLast) = state.withLock { state in
      state.pending -= 1
      var told: Waiter?
      while told == nil, let first = state.waiters.popFirst() {
        if first.claim() { told = first }  // else its task was cancelled
      }
      if told == nil { state.results.append(result) }
      let isLast = state.pending == 0
      var others: [Waiter] = []  // there is nothing for them
      while isLast, let other = state.waiters.popFirst() { if other.claim() { others.append(other) } }
      return (told, others, isLast)
    }
    told?.finish(.success(result))
    for other in others { other.finish(.success(nil)) }
    if isLast { changed.broadcast() } else if told == nil { changed.signal() }
  }

  /// A task that waits.
  private final class Waiter: @unchecked Sendable {
    // Unchecked, because of `entry`, which is guarded by the group's state.
    private let resumption = Resumption<Element?>()
    @exclusivity(unchecked) var entry: Int?

    var isOver: Bool { resumption.isOver }
    func claim() -> Bool { resumption.claim() }
    func outcome(isolation: isolated (any Actor)?, _ begin: () -> Void) async -> Element? {
      (try? await resumption.outcome(isolation: isolation, begin)) ?? nil  // it is never finished with an error
    }
    func finish(_ outcome: Result<Element?, any Error>) { resumption.finish(outcome) }
  }

  // MARK: taking results

  /// Waits for the next result, and takes it; `nil` when nothing is under way and no result is left. It blocks.
  @available(*, noasync, message: "it blocks a thread of Swift's own: use await next()")
  public func next() -> Element? {
    state.withLock(on: changed, when: Self.isDecided) { $0.results.popFirst() }
  }

  /// As ``next()``, for `timeout` at the most; one that is not positive does not wait.
  ///
  /// - Parameter timeout: how long to wait at the most. One that is not positive does not wait.
  /// - Throws: ``SchedulerError/timeout`` when there was no result by then.
  @available(*, noasync, message: "it blocks a thread of Swift's own: use await next()")
  public func next(for timeout: Duration) throws(SchedulerError) -> Element? {
    try inTime(state.withLock(on: changed, for: timeout, when: Self.isDecided) { $0.results.popFirst() })
  }

  /// As ``next()``, until `deadline` at the most; one in the past does not wait.
  ///
  /// - Parameter deadline: until when to wait at the most. One in the past does not wait.
  /// - Throws: ``SchedulerError/timeout`` when there was no result by then.
  @available(*, noasync, message: "it blocks a thread of Swift's own: use await next()")
  public func next(until deadline: MonotonicTime) throws(SchedulerError) -> Element? {
    try inTime(state.withLock(on: changed, until: deadline, when: Self.isDecided) { $0.results.popFirst() })
  }

  /// Whether there is something to say to who asks for a result.
  private static func isDecided(_ state: State) -> Bool { !state.results.isEmpty || state.pending == 0 }

  private func inTime(_ found: Element??) throws(SchedulerError) -> Element? {
    guard let found else { throw .timeout }
    return found
  }

  /// Suspends the task until the next result, and takes it; `nil` when nothing is under way and no result is left, and as soon as the task is
  /// cancelled: what is under way goes on.
  ///
  /// - Parameter isolation: the caller's, which it keeps.
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

  /// Has `waiter` told of the next result, or at once.
  private func wait(_ waiter: Waiter) {
    let found: Element?? = state.withLock { state in
      guard Self.isDecided(state) else {
        if !waiter.isOver { waiter.entry = state.waiters.append(waiter) }  // else the handler came before it
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

/// An action whose result is waited for. It gives one: at its run, or at its end without one.
private final class ResultMember<Value: Sendable>: GroupMember, @unchecked Sendable {
  // Unchecked, as its superclass is.
  private let results: ResultGroup<Value>
  let token = ResultToken()
  /// Until it has run.
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

  /// A function of its own, so that what the closure holds has gone before the result is taken.
  @inline(never)
  private func callOnce() -> Result<Value, any Error> {
    let action = action.take()!
    return Result { try withRefusalLine(action) }
  }
}
