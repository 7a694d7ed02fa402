internal import CScheduler

/// The outcome of something that a task waits for. It may come before the wait. Only the first outcome counts.
///
/// While a task's cancellation handler runs, the runtime blocks each thread that resumes the task. So a thread does not resume a task inside a
/// job that the handler may wait for. A job of the pool resumes it: the worker runs that job after it has left the queue.
final class Resumption<Success>: PendingResumption, @unchecked Sendable {
  // Unchecked, because an outcome need not be Sendable. `finish` retains no reference to it, and only the task takes it.
  private enum State {
    case early
    case waiting(CheckedContinuation<Void, Never>)
    case due(CheckedContinuation<Void, Never>, Result<Success, any Error>)
    /// Has the outcome until the task has taken it.
    case over(Result<Success, any Error>?)
  }

  private let state = Protected(State.early)
  private let isClaimed = Protected(false)

  /// Returns whether the caller is the first to claim this. A caller claims it when it must be the one to finish it, before it has the outcome.
  func claim() -> Bool { !isClaimed.exchange(true) }

  /// Whether there is an outcome.
  var isOver: Bool {
    state.read {
      switch $0 {
      case .early, .waiting: false
      case .due, .over: true
      }
    }
  }

  /// Suspends the task until there is an outcome, and takes it, so that no other reference to its value remains. Call it once. It calls `begin`
  /// before the task is suspended, unless there is an outcome already.
  func outcome(isolation: isolated (any Actor)?, _ begin: () -> Void = {}) async throws -> sending Success {
    await withCheckedContinuation(isolation: isolation) { continuation in
      let isOver = state.withLock {
        if case .over = $0 { return true }
        $0 = .waiting(continuation)
        return false
      }
      if isOver { continuation.resume() } else { begin() }
    }
    let taken: Result<Success, any Error>? = state.withLock {
      guard case .over(let outcome) = $0 else { return nil }
      $0 = .over(nil)
      return outcome
    }
    nonisolated(unsafe) let outcome = taken!
    return try outcome.get()
  }

  /// Resumes the task with `outcome`, at once or when it starts to wait. A second call does nothing.
  ///
  /// - Parameters:
  ///   - outcome: the result or error of the wait.
  ///   - target: the target whose job calls this as its last action, if there is one.
  ///   - isAlwaysElsewhere: whether a job of the pool must resume the task, even if this thread holds nothing.
  func finish(
    _ outcome: consuming Result<Success, any Error>, lastOf target: UnsafeMutablePointer<csched_target>? = nil,
    elsewhere isAlwaysElsewhere: Bool = false
  ) {
    var outcome = Optional(consume outcome)
    let isDue = state.withLock {
      switch $0 {
      case .early:
        $0 = .over(outcome.take())
        return false
      case .waiting(let continuation):
        $0 = .due(continuation, outcome.take()!)
        return true
      case .due, .over:
        return false
      }
    }
    if isDue { resumeOutside(lastOf: target, isAlwaysElsewhere) }
  }

  override func resume() {
    let continuation: CheckedContinuation<Void, Never>? = state.withLock {
      guard case .due(let continuation, let outcome) = $0 else { return nil }
      $0 = .over(outcome)
      return continuation
    }
    continuation?.resume()
  }
}

/// A resumption without the type of its outcome.
class PendingResumption: @unchecked Sendable {
  // Unchecked, because its subclass is: see there.
  func resume() {}

  /// Resumes the task on this thread if the thread is inside no job of a queue, loop or limit, or is inside virtual time. Otherwise a job of the
  /// pool resumes it, even if that job is dropped.
  final func resumeOutside(lastOf current: UnsafeMutablePointer<csched_target>?, _ isAlwaysElsewhere: Bool) {
    var target: UnsafeMutablePointer<csched_target>?
    let holding = csched_swift_holds_(current, &target)
    if holding == CSCHED_SWIFT_HOLDS_NOTHING, !isAlwaysElsewhere { return resume() }
    let task = csched_task_make_(resumingType.pointer, CSCHED_TASK_PLAIN)
    guard let job = task.job else { return resume() }
    job.pointee.context = Unmanaged.passRetained(self).toOpaque()
    if holding == CSCHED_SWIFT_LEAVES_QUEUE {
      csched_swift_submit_follow_up_(target, job)
    } else {
      csched_task_submit_(target ?? PoolCore.shared(.default).target, task)
    }
  }
}

private func resume(_ job: UnsafeMutablePointer<csched_job>?) {
  Unmanaged<PendingResumption>.fromOpaque(job!.pointee.context).takeRetainedValue().resume()
}

private let resumingType = JobType(
  csched_job_type(
    run: { resume($0) }, drop: { resume($0) }, release: { csched_task_free_($0, CSCHED_TASK_PLAIN) }))
