/// Shares one run among all tasks that want the same value at the same time: a run for each key. It can keep values for
/// a time, as a cache.
///
/// ```swift
/// let pages = AsyncOnce<URL, Page>(timeToLive: .seconds(60))
/// let page = try await pages.value(for: url) { try await fetch(url) }   // one fetch, however many tasks ask
/// ```
///
/// 1. The first task that asks for a key starts a run, in a task of its own. Tasks that ask while it runs wait for its
///    value; their closures are not called.
/// 2. A task that is cancelled stops waiting at once. The run continues for the others, and is cancelled when the last
///    one has left. A task that asks after that starts a new run.
/// 3. All waiting tasks get the error that a run throws. It is not kept: the next task that asks starts a new run.
/// 4. A value is kept from the end of its run for the time to live. Without one, it is not kept. Values whose time is
///    over are released when a value is added, at the latest when as many again have been added.
/// 5. A run has the priority of the task that has started it, or that of a waiting task if that is higher. It inherits
///    the task-local values of the task that has started it.
///
/// The idea is that of Go's `singleflight`, with cancellation. For one value, use one constant key. Hashing and
/// comparing a key must not use the same `AsyncOnce`. A run that awaits a child task which asks for the value of that
/// run waits for ever.
public final class AsyncOnce<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// A run, and the tasks that wait for it. The lock of the `AsyncOnce` guards the fields.
  private final class Run: @unchecked Sendable {
    // Unchecked, because the compiler does not know of that lock.
    @exclusivity(unchecked) var waiters: [Resumption<Value>]
    @exclusivity(unchecked) var task: Task<Void, Never>?  // nil until it has been started
    @exclusivity(unchecked) var taskAddress: UInt = 0  // the task that executes the closure; 0: not yet
    @exclusivity(unchecked) var priority: TaskPriority  // the highest of the tasks that have waited
    init(_ waiter: Resumption<Value>, _ priority: TaskPriority) { (waiters, self.priority) = ([waiter], priority) }
  }

  private enum Entry: Sendable {
    case running(Run)
    case kept(Kept)
  }

  /// A value that is kept. Outside the lock, `isFresh` says whether it is still to be used: it reads the user's clock.
  private struct Kept: Sendable {
    let value: Value
    let isFresh: (@Sendable () -> Bool)?  // nil: for ever
    let number: Int  // of each value another one
  }

  private struct State: Sendable {
    var entries: [Key: Entry] = [:]
    var sweepsAt = 32  // the number of entries at which the next addition releases what is not fresh
    var lastNumber = 0  // of a kept value

    /// Removes the value with `number` for `key`, if it is kept. Returns what the caller releases outside the lock.
    mutating func remove(_ key: Key, _ number: Int) -> (Key, Entry)? {
      guard let index = entries.index(forKey: key), case .kept(let kept) = entries[index].value, kept.number == number
      else { return nil }
      return entries.remove(at: index)
    }
  }

  private let state = Protected(State())
  private let keepsValues: Bool
  /// Called at the end of a run. Returns a closure that says whether the value is still to be used. Nil: for ever.
  private let expiry: (@Sendable () -> @Sendable () -> Bool)?

  /// Creates an object without values.
  ///
  /// - Parameter timeToLive: how long a value is kept after its run, on `ContinuousClock`; inside `withVirtualTime`, of
  ///   that time. Zero or less: it is not kept; 100 years or more: for ever.
  public convenience init(timeToLive: Duration = .zero) { self.init(timeToLive: timeToLive, clock: DeadlineClock()) }

  /// Creates an object without values, which keeps them by the time of `clock`.
  ///
  /// - Parameters:
  ///   - timeToLive: how long a value is kept after its run. Zero or less: it is not kept; 100 years or more: for ever.
  ///   - clock: the clock; for the time of a scheduler, also a virtual one, its ``SchedulerType/clock``.
  public init<C: Clock>(timeToLive: Duration, clock: C) where C.Duration == Duration {
    keepsValues = timeToLive > .zero
    let isForEver = timeToLive >= .seconds(100 * 365 * 86_400)
    if isForEver || !keepsValues {
      expiry = nil
    } else {
      expiry = {
        let end = clock.now.advanced(by: timeToLive)
        return { clock.now < end }
      }
    }
  }

  /// Returns the value for `key`: one that is kept, that of a run in progress, or that of a new run of `make`.
  ///
  /// - Parameters:
  ///   - key: what the value is for.
  ///   - isolation: the caller's isolation, in which this function waits.
  ///   - make: makes the value. It is called at most once, in a task of its own: on the actor of the code in which it
  ///     is written, if there is one.
  /// - Returns: the value.
  /// - Throws: the error of the run; `CancellationError` if the calling task is cancelled first;
  ///   ``SchedulerError/deadlock`` if `make` itself asks for the value that it makes.
  public func value(
    for key: Key, isolation: isolated (any Actor)? = #isolation,
    @_inheritActorContext _ make: sending @escaping @isolated(any) () async throws -> Value
  ) async throws -> Value {
    if let value = keptValue(key) { return value }
    let waiter = Resumption<Value>(), run: Run
    switch try join(key, waiter) {
    case .kept(let value): return value  // made since the look above
    case .waits(let other): run = other
    case .mustStart(let new):
      run = new
      start(run, key, make)
    }
    return try await withTaskCancellationHandler {
      try await waiter.outcome(isolation: isolation)
    } onCancel: {
      leave(run, key, waiter)
    }
  }

  /// Releases the value for `key`, if one is kept. A run in progress continues for the tasks that wait for it, but its
  /// value is not kept, and a task that asks from now on starts a new one.
  ///
  /// - Parameter key: whose value.
  public func forget(_ key: Key) {
    let old = state.withLock { state in state.entries.index(forKey: key).map { state.entries.remove(at: $0) } }
    _ = consume old  // outside the lock: it may run user code
  }

  /// Releases all values: see ``forget(_:)``.
  public func forgetAll() {
    let old = state.withLock { state in
      defer { state.entries = [:] }
      return state.entries
    }
    _ = consume old  // outside the lock: it may run user code
  }

  // MARK: Runs

  /// The value that is kept for `key`, if it is to be used; removes it otherwise. Not async: it holds a lock.
  @inline(never)
  private func keptValue(_ key: Key) -> Value? {
    guard keepsValues, case .kept(let kept)? = state.withLock({ $0.entries[key] }) else { return nil }
    if kept.isFresh?() != false { return kept.value }
    let old = state.withLock { $0.remove(key, kept.number) }
    _ = consume old  // outside the lock: it may run user code
    return nil
  }

  private enum Joined {
    case kept(Value)
    case waits(Run)
    case mustStart(Run)  // the caller must call `start`
  }

  /// Finds the value, or lets `waiter` wait for the run for `key`. Not async: it holds a lock.
  @inline(never)
  private func join(_ key: Key, _ waiter: Resumption<Value>) throws -> Joined {
    let isCancelled = Task.isCancelled, current = Self.currentTask, priority = Task.currentPriority
    let (joined, task): (Joined?, Task<Void, Never>?) = state.withLock { state in
      let entry = state.entries[key]
      if case .kept(let kept)? = entry { return (.kept(kept.value), nil) }
      if isCancelled { return (nil, nil) }
      if case .running(let run)? = entry {
        if current != 0, run.taskAddress == current { return (nil, nil) }
        run.waiters.append(waiter)
        run.priority = max(run.priority, priority)
        return (.waits(run), run.task)
      }
      let run = Run(waiter, priority)
      state.entries[key] = .running(run)
      return (.mustStart(run), nil)
    }
    guard let joined else { throw isCancelled ? CancellationError() : SchedulerError.deadlock as any Error }
    if let task { Self.raise(task, to: priority) }
    return joined
  }

  /// Starts the task of `run`, or cancels it if its only waiter has left meanwhile.
  private func start(
    _ run: Run, _ key: Key, _ make: sending @escaping @isolated(any) () async throws -> Value
  ) {
    let task = Task {
      begin(run)
      let outcome: Result<Value, any Error>
      do { outcome = .success(try await make()) } catch { outcome = .failure(error) }
      end(run, key, outcome)
    }
    let (isAbandoned, priority) = state.withLock { _ in
      run.task = task
      return (run.waiters.isEmpty, run.priority)
    }
    if isAbandoned { task.cancel() }  // no effect if it has ended
    if priority > Task.currentPriority { Self.raise(task, to: priority) }  // that of a task that has joined meanwhile
  }

  @inline(never)
  private func begin(_ run: Run) {
    let current = Self.currentTask
    state.withLock { _ in run.taskAddress = current }
  }

  /// Keeps the value of `run`, and resumes the tasks that wait for it.
  @inline(never)
  private func end(_ run: Run, _ key: Key, _ outcome: Result<Value, any Error>) {
    let isFresh = expiry?()  // outside the lock: it reads the clock
    let (waiters, mustSweep): ([Resumption<Value>], Bool) = state.withLock { state in
      let waiters = run.waiters
      run.waiters = []
      run.taskAddress = 0
      // else the run was forgotten
      guard case .running(let current)? = state.entries[key], current === run else { return (waiters, false) }
      guard keepsValues, case .success(let value) = outcome else {
        state.entries[key] = nil
        return (waiters, false)
      }
      state.lastNumber += 1
      state.entries[key] = .kept(Kept(value: value, isFresh: isFresh, number: state.lastNumber))
      return (waiters, state.entries.count >= state.sweepsAt)
    }
    for waiter in waiters { waiter.finish(outcome) }
    if mustSweep { sweep() }
  }

  /// Releases the values that are not fresh. The next time is when as many values have been added as are left.
  private func sweep() {
    for (key, entry) in state.read({ $0.entries }) {
      guard case .kept(let kept) = entry, kept.isFresh?() == false else { continue }
      let old = state.withLock { $0.remove(key, kept.number) }
      _ = consume old  // outside the lock: it may run user code
    }
    state.withLock { $0.sweepsAt = max(32, 2 * $0.entries.count) }
  }

  /// Ends the wait of `waiter`, whose task is cancelled. Cancels the run if it was the last waiter.
  private func leave(_ run: Run, _ key: Key, _ waiter: Resumption<Value>) {
    let (hasLeft, abandoned): (Bool, Task<Void, Never>?) = state.withLock { state in
      // else the run has ended
      guard let index = run.waiters.firstIndex(where: { $0 === waiter }) else { return (false, nil) }
      run.waiters.remove(at: index)
      guard run.waiters.isEmpty else { return (true, nil) }
      if case .running(let current)? = state.entries[key], current === run { state.entries[key] = nil }
      return (true, run.task)  // nil: `start` will cancel it
    }
    guard hasLeft else { return }
    abandoned?.cancel()
    waiter.finish(.failure(CancellationError()))
  }

  /// The address of the current task; 0 outside of tasks.
  private static var currentTask: UInt { withUnsafeCurrentTask { unsafeBitCast($0, to: UInt.self) } }

  private static func raise(_ task: Task<Void, Never>, to priority: TaskPriority) {
    if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) { task.escalatePriority(to: priority) }
  }
}
