public import Scheduler

/// The time of a body in virtual time, which moves only when nothing of the body can run: see `withVirtualTime(seed:_:)`.
///
/// Any thread may use it. When the body has ended its clock stands: sleeps throw `CancellationError`, and what moves the clock returns at once.
public struct VirtualTime: Sendable {
  /// How much a body may take.
  public struct Limits: Hashable, Sendable {
    /// How many jobs it may run before it is taken for one without an end. 2^22 by default.
    public var jobs: Int
    /// How long, in real time, nothing of it has to be able to run before it is taken for one that waits for ever. 5 s by default. Something that
    /// another thread does for it, a file that is read, may take as long.
    public var patience: Duration

    public init(jobs: Int = 1 << 22, patience: Duration = .seconds(5)) {
      self.jobs = jobs
      self.patience = patience
    }
  }

  let scope: VirtualScope

  /// The scheduler that keeps the time, for code that takes one. Its actions run among the body's tasks.
  public var scheduler: TestScheduler { scope.scheduler }

  /// The present. It begins with 0.
  public var now: MonotonicTime { scope.scheduler.now }

  /// A clock that shows it, for code that takes a `Clock`.
  public var clock: SchedulerClock { scope.scheduler.clock }

  /// How many jobs of its tasks other threads have brought so far: a callback of Dispatch resumed one, or an actor with a thread of its own. Those go on in
  /// virtual time, but when they come is left to chance.
  public var escapes: Int { scope.state.read(\.escapes) }

  /// Suspends the task until the clock has moved on by `duration`.
  ///
  /// - Throws: `CancellationError` when the task is cancelled, or the body ends before.
  public func sleep(for duration: Duration, isolation: isolated (any Actor)? = #isolation) async throws {
    try await sleep(until: now.advanced(by: duration))
  }

  /// Suspends the task until the clock has come to `instant`.
  ///
  /// - Throws: `CancellationError` when the task is cancelled, or the body ends before.
  public func sleep(until instant: MonotonicTime, isolation: isolated (any Actor)? = #isolation) async throws {
    try await scope.scheduler.sleep(until: instant)
  }

  /// Moves the clock on by `duration`, and returns when all that was to happen by then has happened, at that instant too. Not positive, it lets
  /// happen what can without time.
  public func advance(by duration: Duration, isolation: isolated (any Actor)? = #isolation) async {
    await advance(to: now.advanced(by: duration))
  }

  /// Moves the clock to `instant`: see ``advance(by:isolation:)``. For one that has passed it does not move.
  public func advance(to instant: MonotonicTime, isolation: isolated (any Actor)? = #isolation) async {
    await scope.advance(to: instant, isolation: isolation)
  }

  /// Moves the clock on until nothing waits for its time any more. What repeats for ever makes the body endless: see ``Limits/jobs``.
  public func run(isolation: isolated (any Actor)? = #isolation) async { await scope.run(isolation: isolation) }
}
