internal import CScheduler

/// Suspends one task until an outcome is reported. The outcome may be reported before the wait. Only the first outcome counts.
/// While a task's cancellation handler runs, the runtime blocks each thread that resumes the task. The handler may itself wait for a running job.
/// To avoid that deadlock, a thread inside a job does not resume the task. It submits a job to the pool, which resumes the task.
final class Resumption<Success>: PendingResumption, @unchecked Sendable {
  // Unchecked, because an outcome need not be Sendable. `finish` retains no reference to the outcome, and only the task receives it.
  private enum State {
    case early  // no outcome, and the task does not wait yet
    case waiting(CheckedContinuation<Void, Never>)
    /// The outcome is known. The task still waits, and `resume` must be called.
    case due(CheckedContinuation<Void, Never>, Result<Success, any Error>)
    case over(Result<Success, any Error>?)  // the task continues; nil after it has received the outcome
  }

  private let state = Protected(State.early)
  private let isClaimed = Protected(false)  // set by the first `claim`

  /// Returns whether the caller is the first to claim this resumption. Threads that compete to run and finish an action claim it first: only the
  /// winner calls `finish`.
  func claim() -> Bool { !isClaimed.exchange(true) }

  /// Whether an outcome has been reported.
  var isOver: Bool {
    state.read {
      switch $0 {
      case .early, .waiting: false
      case .due, .over: true
      }
    }
  }

  /// Suspends the task until there is an outcome. Then returns the value or throws the error, and retains neither. Call this once.
  /// Calls `begin` before the task is suspended, unless an outcome has been reported already.
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
    nonisolated(unsafe) let outcome = taken!  // only the state `over` resumes the task
    return try outcome.get()
  }

  /// Reports `outcome`. Resumes the task if it waits; otherwise its later wait returns at once. A second call does nothing.
  ///
  /// - Parameters:
  ///   - outcome: the result or error of the wait.
  ///   - target: the target whose job calls this as its final step, if there is one.
  ///   - isAlwaysElsewhere: whether a job of the pool must resume the task even if this thread is inside no job.
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

  /// Resumes the task if it waits and has an outcome.
  override func resume() {
    let continuation: CheckedContinuation<Void, Never>? = state.withLock {
      guard case .due(let continuation, let outcome) = $0 else { return nil }
      $0 = .over(outcome)
      return continuation
    }
    continuation?.resume()
  }
}

/// The superclass of ``Resumption``, without the type of the outcome: the C core's callbacks cannot be generic.
class PendingResumption: @unchecked Sendable {
  // Unchecked, as the subclass is, which overrides `resume`.
  func resume() {}

  /// Resumes the task on this thread if the thread is inside no job of a queue, loop or limit, or is inside virtual time. Otherwise submits a job
  /// that resumes the task when the job runs or is dropped. Parameters: see ``Resumption/finish(_:lastOf:elsewhere:)``.
  final func resumeOutside(lastOf current: UnsafeMutablePointer<csched_target>?, _ isAlwaysElsewhere: Bool) {
    var target: UnsafeMutablePointer<csched_target>?
    let holding = csched_swift_holds_(current, &target)  // target: the thread's pool, or nil
    if holding == CSCHED_SWIFT_HOLDS_NOTHING, !isAlwaysElsewhere { return resume() }
    let task = csched_task_make_(resumingType.pointer, CSCHED_TASK_PLAIN)
    guard let job = task.job else { return resume() }  // no memory for a job
    job.pointee.context = Unmanaged.passRetained(self).toOpaque()
    if holding == CSCHED_SWIFT_LEAVES_QUEUE {  // runs on this thread, after the queue's batch
      csched_swift_submit_follow_up_(target, job)
    } else {
      csched_task_submit_(target ?? PoolCore.shared(.default).target, task)
    }
  }
}

/// Resumes the task of a job of `resumingType`, and releases the object that `context` retains.
private func resume(_ job: UnsafeMutablePointer<csched_job>?) {
  Unmanaged<PendingResumption>.fromOpaque(job!.pointee.context).takeRetainedValue().resume()
}

private let resumingType = JobType(
  csched_job_type(
    run: { resume($0) }, drop: { resume($0) }, release: { csched_task_free_($0, CSCHED_TASK_PLAIN) }))
