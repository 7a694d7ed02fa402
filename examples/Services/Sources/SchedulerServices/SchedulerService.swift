import Scheduler
import ServiceLifecycle

/// Threads of schedulers as a service: a `ThreadScheduler`, a group of them, or a `WorkerPool`.
///
/// A `ServiceGroup` shuts its services down in reverse order. So list this service before the services that submit work
/// to it:
///
/// ```swift
/// let group = ServiceGroup(
///   services: [SchedulerService(database), server], gracefulShutdownSignals: [.sigterm], logger: logger)
/// try await group.run()
/// ```
///
/// | event | outstanding actions | actions that come later | `run()` |
/// |---|---|---|---|
/// | graceful shutdown | run | refused: `SchedulerError.stopped` | returns when the threads have ended |
/// | the group is cancelled | dropped, except those that run | refused | returns when the threads have ended |
/// | the grace period has passed | dropped, except those that run | refused | throws `SchedulerError.timeout` |
///
/// Actions of queues and limits on the scheduler are its actions in batches: give the `ActionGroup` of what you accept
/// as `accepted`, so that the service waits for all of it before it stops the threads.
public struct SchedulerService: Service, CustomStringConvertible {
  private typealias Stop = @Sendable (Schedulers.StopPolicy, ContinuousClock.Instant) async throws -> Void

  public let description: String
  private let accepted: ActionGroup?
  private let gracePeriod: Duration
  private let stop: Stop

  /// - Parameters:
  ///   - thread: the scheduler whose thread the service ends.
  ///   - accepted: the actions that must have ended before the thread is stopped, on this scheduler or on others.
  ///   - gracePeriod: how long `accepted` and outstanding actions may take.
  public init(_ thread: ThreadScheduler, accepted: ActionGroup? = nil, gracePeriod: Duration = .seconds(10)) {
    self.init("thread \(thread.name)", accepted, gracePeriod) { try await thread.stopAndJoin($0, deadline: $1) }
  }

  /// The same for a group of threads: see ``init(_:accepted:gracePeriod:)``.
  public init(_ threads: ThreadScheduler.Group, accepted: ActionGroup? = nil, gracePeriod: Duration = .seconds(10)) {
    self.init("\(threads.schedulers.count) threads", accepted, gracePeriod) {
      try await threads.stopAndJoin($0, deadline: $1)
    }
  }

  /// The same for a pool: see ``init(_:accepted:gracePeriod:)``.
  public init(_ pool: WorkerPool, accepted: ActionGroup? = nil, gracePeriod: Duration = .seconds(10)) {
    self.init("pool", accepted, gracePeriod) { try await pool.stopAndJoin($0, deadline: $1) }
  }

  private init(_ description: String, _ accepted: ActionGroup?, _ gracePeriod: Duration, _ stop: @escaping Stop) {
    self.description = description
    self.accepted = accepted
    self.gracePeriod = gracePeriod
    self.stop = stop
  }

  /// Suspends until the graceful shutdown or the cancellation of the task, and ends the threads.
  public func run() async throws {
    do { try await gracefulShutdown() } catch { return try await end(.dropOutstanding, within: gracePeriod) }
    let deadline = ContinuousClock.now + gracePeriod
    do {
      try await accepted?.waitForAll(deadline: deadline)
      try await stop(.runOutstanding, deadline)
    } catch {  // too late, or cancelled
      try await end(.dropOutstanding, within: .zero)
      if !(error is CancellationError) { throw error }
    }
  }

  /// Stops the threads and waits for them, although the task may be cancelled.
  private func end(_ policy: Schedulers.StopPolicy, within grace: Duration) async throws {
    accepted?.cancelAll()
    try await withTaskCancellationShield { try await stop(policy, .now + grace) }
  }
}
