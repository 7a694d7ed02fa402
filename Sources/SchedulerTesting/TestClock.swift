public import Scheduler

/// A clock for tests that moves only in calls of ``advance(by:)``, ``advance(to:)`` and ``run(timeout:)``.
///
/// ```swift
/// let clock = TestClock()
/// let task = Task { try await clock.sleep(for: .seconds(60)) }
/// await clock.advance(by: .seconds(60))   // at once
/// try await task.value
/// ```
///
/// These calls let other tasks run for a short time, before and after they end each sleep, so that the tasks reach
/// their next sleep. That time is a guess: the calls do not wait for a task that needs longer. It is exact if the test
/// and its tasks prefer the same serial executor, as in `withTaskExecutorPreference(queue)` and
/// `Task(executorPreference: queue)`. `withVirtualTime`, and the trait `.virtualTime`, need no guess.
///
/// The names are those of the package swift-clocks. Code that takes a scheduler instead of a clock gets ``scheduler``.
public final class TestClock: Clock {
  /// An instant of a ``TestClock`` or an ``ImmediateClock``.
  public struct Instant: InstantProtocol, Sendable {
    /// The time since the clock's origin.
    public let offset: Duration

    /// Creates an instant.
    ///
    /// - Parameter offset: the time since the clock's origin.
    public init(offset: Duration = .zero) { self.offset = offset }

    /// Returns the instant `duration` later, or earlier if it is negative, clamped to 2⁶³ seconds from the origin.
    public func advanced(by duration: Duration) -> Self {
      Self(offset: Self.clamped(Self.clamped(offset) + Self.clamped(duration)))
    }

    public func duration(to other: Self) -> Duration { Self.clamped(other.offset) - Self.clamped(offset) }

    /// Returns `span` clamped to ±2⁶³ seconds, so that the sum of any two results fits into `Duration`.
    private static func clamped(_ span: Duration) -> Duration {
      min(max(span, .seconds(Int64.min)), .seconds(Int64.max))
    }

    public static func < (one: Self, other: Self) -> Bool { one.offset < other.offset }
  }

  /// The scheduler whose time this clock shows. Its actions run in the calls that move the clock.
  public let scheduler: VirtualTimeScheduler<Instant>
  private let origin: Instant  // the instant at which the scheduler's time is 0
  /// The deadline of each sleeping task. Each sleep has its own key; `lastKey` is the newest one.
  private let sleeps = Protected<(deadlines: [Int: Instant], lastKey: Int)>(([:], 0))

  /// Creates a clock.
  ///
  /// - Parameter now: its first instant.
  public init(now: Instant = Instant()) {
    scheduler = VirtualTimeScheduler(initialClock: now)
    origin = now
  }

  public var now: Instant { scheduler.virtualTime }

  /// Zero: the clock stops at each deadline exactly.
  public var minimumResolution: Duration { .zero }

  /// Suspends the task until the clock reaches `deadline`.
  ///
  /// - Parameters:
  ///   - deadline: when to wake. If it has passed, the task is not suspended.
  ///   - tolerance: ignored.
  /// - Throws: `CancellationError` if the task is cancelled first.
  public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
    try Task.checkCancellation()
    let key = sleeps.withLock { sleeps in
      sleeps.lastKey += 1
      sleeps.deadlines[sleeps.lastKey] = deadline
      return sleeps.lastKey
    }
    // also after a cancellation; otherwise `advance` and `run` would find this deadline again and again
    defer { sleeps.withLock { _ = $0.deadlines.removeValue(forKey: key) } }
    // Not `sleep(for:)`: another thread may move the clock between two reads of it. The task would then wake after
    // `deadline`.
    try await scheduler.sleep(until: MonotonicTime(nanoseconds: 0).advanced(by: origin.duration(to: deadline)))
  }

  /// Lets other tasks run for a short time, then throws ``SuspensionError`` if a task sleeps on this clock.
  public func checkSuspension() async throws {
    await letOthersRun()
    if scheduler.sleeperCount > 0 { throw SuspensionError() }
  }

  /// Moves the clock forward, and wakes the tasks whose sleep ends, in order.
  ///
  /// - Parameter duration: how far. With zero or less, the clock stays, and the tasks that are due are woken.
  public func advance(by duration: Duration = .zero) async { await advance(to: now.advanced(by: duration)) }

  /// Moves the clock to `deadline`, and wakes the tasks whose sleep ends, in order.
  ///
  /// - Parameter deadline: the clock's new time. If it has passed, the clock stays, and the tasks that are due are
  ///   woken.
  public func advance(to deadline: Instant) async {
    await letOthersRun()  // so that tasks that were just created reach their sleep
    while let next = nextDeadline, next <= deadline {
      scheduler.advance(to: max(now, next))  // `next` may have passed: the clock does not move back
      await letOthersRun()
    }
    scheduler.advance(to: max(now, deadline))  // from the last sleep to the end; runs actions of `scheduler`, too
    await letOthersRun()
  }

  /// Moves the clock forward until no task sleeps on it.
  ///
  /// - Parameter timeout: the real time after which the call gives up: it prints a line on standard error, and returns
  ///   while tasks still sleep.
  public func run(timeout: Duration = .milliseconds(500)) async {
    let end = ContinuousClock.now + min(timeout, .seconds(Int64.max))  // more could overflow
    await letOthersRun()
    while let next = nextDeadline {
      if ContinuousClock.now >= end {
        reportLine(
          "TestClock.run",
          "tasks still sleep after \(timeout). Does one sleep again and again? Use advance(by:), or a longer timeout.")
        return
      }
      await advance(to: max(now, next))
    }
  }

  /// The earliest deadline of a sleeping task; nil if none sleeps.
  private var nextDeadline: Instant? { sleeps.withLock { $0.deadlines.values.min() } }
}

/// The error of ``TestClock/checkSuspension()``: a task sleeps on the clock.
public struct SuspensionError: Error, CustomStringConvertible {
  public init() {}

  public var description: String { "a task sleeps on the clock; none was expected to" }
}

/// A clock for tests and previews whose sleeps take no time: each sleep moves it to its deadline at once.
///
/// ```swift
/// let model = Model(clock: ImmediateClock())   // its delays do not delay
/// ```
///
/// The name is that of the package swift-clocks.
public final class ImmediateClock: Clock {
  public typealias Instant = TestClock.Instant

  private let time: Protected<Instant>  // the latest deadline so far

  /// Creates a clock.
  ///
  /// - Parameter now: its first instant.
  public init(now: Instant = Instant()) { time = Protected(now) }

  public var now: Instant { time.read() }

  /// Zero: the clock stops at each deadline exactly.
  public var minimumResolution: Duration { .zero }

  /// Moves the clock to `deadline`, unless that has passed, and lets other tasks run.
  ///
  /// - Parameters:
  ///   - deadline: the clock's new time.
  ///   - tolerance: ignored.
  /// - Throws: `CancellationError` if the task is cancelled before the call.
  public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
    try Task.checkCancellation()
    time.withLock { $0 = max($0, deadline) }
    await Task.yield()
  }
}

/// Lets other tasks run, long enough for most to reach their next sleep. Waits 20 times (a guess) for a new task of low
/// priority, which runs after other tasks. It is a child, which prefers the executor of its caller: on a serial one it
/// runs after the tasks that are ready.
private func letOthersRun() async {
  for _ in 0..<20 { await withTaskGroup { $0.addTask(priority: .background) { await Task.yield() } } }
}
