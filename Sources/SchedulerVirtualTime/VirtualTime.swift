public import Scheduler

/// The virtual time of a body that `withVirtualTime(seed:_:)` runs. It moves only when no job of the body can run.
///
/// Any thread may use it. After the body's end its clock stops: sleeps throw `CancellationError`, and methods that move
/// the clock return at once.
public struct VirtualTime: Sendable {
  /// When a body counts as endless or stalled.
  public struct Limits: Hashable, Sendable {
    /// How many jobs of its tasks a body may run before it counts as endless. 2^22 by default.
    public var jobs: Int
    /// How long, in real time, the body may have no job to run, and no sleep or action, before it counts as stalled. 5
    /// s by default. So the body may wait that long for work on another thread, such as reading a file.
    public var patience: Duration

    public init(jobs: Int = 1 << 22, patience: Duration = .seconds(5)) {
      self.jobs = jobs
      self.patience = patience
    }
  }

  let scope: VirtualScope

  /// Whether this compiler and system have virtual time for tasks: Swift 6.3 on Linux. Elsewhere `withVirtualTime`
  /// throws ``VirtualTimeError/unavailable``.
  public static var isAvailable: Bool { VirtualExecutors.areAvailable }

  /// The virtual time of the current task, or of the action that runs on this thread; `nil` outside of virtual time,
  /// and after the body's end.
  public static var current: VirtualTime? { VirtualScope.current.map { VirtualTime(scope: $0) } }

  /// A scheduler with this time, for code that takes a scheduler. Its actions run on the driving thread, between the
  /// jobs of the body's tasks.
  public var scheduler: TestScheduler { scope.scheduler }

  /// The current time. It starts at 0.
  public var now: MonotonicTime { scope.scheduler.now }

  /// A clock with this time, for code that takes a `Clock`.
  public var clock: SchedulerClock { scope.scheduler.clock }

  /// How many jobs of the body's tasks other threads have added so far, for example a Dispatch callback or an actor
  /// with its own thread. These jobs run in virtual time, but the order in which they arrive is not deterministic.
  public var escapes: Int { scope.state.read(\.escapes) }

  /// Suspends the task until the clock has moved forward by `duration`. Returns at once if `duration` is not positive.
  ///
  /// - Throws: `CancellationError` if the task is cancelled or the body ends first.
  public func sleep(for duration: Duration, isolation: isolated (any Actor)? = #isolation) async throws {
    try await sleep(until: now.advanced(by: duration))
  }

  /// Suspends the task until the clock reaches `instant`. Returns at once if the clock has reached it already.
  ///
  /// - Throws: `CancellationError` if the task is cancelled or the body ends first.
  public func sleep(until instant: MonotonicTime, isolation: isolated (any Actor)? = #isolation) async throws {
    try await scope.scheduler.sleep(until: instant)
  }

  /// Moves the clock forward by `duration`. Returns after all work due by then has run, including work due at that
  /// instant. If `duration` is not positive, the clock stays, and all work that is runnable or due now runs.
  public func advance(by duration: Duration, isolation: isolated (any Actor)? = #isolation) async {
    await advance(to: now.advanced(by: duration))
  }

  /// Moves the clock to `instant`: see ``advance(by:isolation:)``. The clock does not move if `instant` has passed.
  public func advance(to instant: MonotonicTime, isolation: isolated (any Actor)? = #isolation) async {
    await scope.advance(to: instant, isolation: isolation)
  }

  /// Moves the clock forward until no job, sleep or action waits for its time. Work that repeats for ever makes the
  /// body endless: ``Limits/jobs``.
  public func run(isolation: isolated (any Actor)? = #isolation) async { await scope.run(isolation: isolation) }
}
