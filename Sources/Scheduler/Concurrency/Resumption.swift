internal import CScheduler

/// The one outcome of something that a task waits for. It may come before the wait, and any number of times: the first one counts.
///
/// While a task's cancellation handler runs, the runtime blocks each thread that resumes the task. So a thread does not resume a task inside of a job
/// that the handler may wait for. A job of the pool does: the worker runs it when it has left the queue.
final class Resumption<Success>: PendingResumption, @unchecked Sendable {
  // Unchecked, because an outcome need not be Sendable. `finish` keeps no reference to it, and only the task takes it.
  private enum State {
    case early
    case waiting(CheckedContinuation<Void, Never>)
    case due(CheckedContinuation<Void, Never>, Result<Success, any Error>)
    /// With the outcome until the task has taken it.
    case over(Result<Success, any Error>?)
  }

  private let state = Protected(State.early)
  private let isClaimed = Protected(false)

  /// Returns whether the caller is the first to ask: for those who must know who finishes it before they have the outcome.
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

  /// Suspends the task until there is an outcome, and takes it: no other reference to a value is left then. Once. `begin` is called before the
  /// task is suspended, unless there is an outcome already.
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

  /// Resumes the task with `outcome`, at once or when it begins to wait. Does nothing the second time.
  ///
  /// - Parameters:
  ///   - outcome: what the wait returns or throws.
  ///   - target: the target whose job calls this as its last action, if there is one.
  ///   - isAlwaysElsewhere: whether it must be another thread that resumes, whatever this one is in the middle of.
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

/// A resumption, whatever its outcome is.
class PendingResumption: @unchecked Sendable {
  // Unchecked, because it has a subclass, which says why it is.
  func resume() {}

  /// Resumes the task on this thread if it holds nothing, or else in a job of the pool. A drop of that job resumes the task, too.
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
