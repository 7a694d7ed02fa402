internal import CScheduler

/// Suspends one task until an outcome is reported. The outcome may be reported before the wait. Only the first outcome
/// counts.
/// A thread inside a job does not resume the task: a job of a pool of the library's own does, or the thread itself
/// after the queue's batch. This avoids a deadlock. While the task's cancellation handler runs, the runtime blocks each
/// thread that resumes the task; the handler may itself wait for the running job, or for the scheduler's thread.
final class Resumption<Success>: PendingResumption, @unchecked Sendable {
  // Unchecked, because an outcome need not be Sendable. The caller of `finish` keeps no reference to the outcome, and
  // only the task receives it.
  private enum State {
    case early  // no outcome, and the task does not wait yet
    case waiting(CheckedContinuation<Void, Never>)  // no outcome, and the task waits
    /// There is an outcome, and the task still waits. `resume` must be called.
    case due(CheckedContinuation<Void, Never>, Result<Success, any Error>)
    case over(Result<Success, any Error>?)  // the task need not wait; nil after it has received the outcome
  }

  private let state = Protected(State.early)
  private let isClaimed = Protected(false)  // set by the first `claim`

  /// Returns whether this is the first call. An action, a cancellation and a deadline compete: each calls this, and the
  /// first one calls `finish`.
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

  /// Suspends the task until there is an outcome. Then returns the value or throws the error, and retains neither. Call
  /// this once.
  /// Before the task is suspended, calls `begin`, which starts the awaited work. Does not call it if an outcome has
  /// been reported already.
  func outcome(isolation: isolated (any Actor)?, _ begin: () -> Void = {}) async throws -> sending Success {
    await withCheckedContinuation(isolation: isolation) { continuation in
      let isOver = state.withLock {
        if case .over = $0 { return true }
        $0 = .waiting(continuation)
        return false
      }
      // `begin` is called only now, with the continuation stored: it may call `finish`
      if isOver { continuation.resume() } else { begin() }
    }
    let taken: Result<Success, any Error>? = state.withLock {
      guard case .over(let outcome) = $0 else { return nil }
      $0 = .over(nil)
      return outcome
    }
    nonisolated(unsafe) let outcome = taken!  // the state is `over` whenever the task is resumed
    return try outcome.get()
  }

  /// Reports `outcome`. Resumes the task if it waits; otherwise its later wait returns at once. A second call does
  /// nothing.
  ///
  /// - Parameters:
  ///   - outcome: the result or error of the wait.
  ///   - target: the target whose job calls this as its final step; nil: there is no such job.
  ///   - mustUsePool: whether a job of the pool must resume the task even if this thread is inside no job.
  func finish(
    _ outcome: consuming Result<Success, any Error>, finalStepOf target: UnsafeMutablePointer<csched_target>? = nil,
    onPool mustUsePool: Bool = false
  ) {
    var outcome = Optional(consume outcome)
    let isDue = state.withLock {  // whether the task waits, and this call must resume it
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
    if isDue { resumeOutsideJobs(finalStepOf: target, mustUsePool) }
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

/// What resumes a task, or several: the superclass of ``Resumption`` and of the requests of ``AsyncUnits``. The C
/// core's callbacks cannot be generic.
class PendingResumption: @unchecked Sendable {
  // Unchecked, as its subclasses are.
  func resume() {}  // the subclass overrides it

  /// Calls `resume` on this thread if the thread is inside no job of a queue, loop or limit, or is inside virtual time.
  /// Otherwise submits a job that calls it when the job runs or is dropped. That job never waits for users' actions.
  /// Each resumption of a task goes through this function.
  /// Parameters: see ``Resumption/finish(_:finalStepOf:onPool:)``.
  final func resumeOutsideJobs(
    finalStepOf current: UnsafeMutablePointer<csched_target>? = nil, _ mustUsePool: Bool = false
  ) {
    var target: UnsafeMutablePointer<csched_target>?
    let holding = csched_swift_find_holding_(current, &target)  // sets `target`: the thread's pool, or nil
    if holding == CSCHED_SWIFT_HOLDS_NOTHING, !mustUsePool { return resume() }
    // a follow-up runs on this thread, after the queue's batch: no thread is woken
    let pool = holding == CSCHED_SWIFT_LEAVES_QUEUE ? nil : PoolCore.resuming
    guard let target = pool?.target ?? (holding == CSCHED_SWIFT_LEAVES_QUEUE ? target : nil) else {
      return resume()  // the system has no thread
    }
    let task = csched_task_make_(resumingType.pointer, CSCHED_TASK_PLAIN)
    guard let job = task.job else { return resume() }  // no memory for a job: otherwise the task would never continue
    job.pointee.context = Unmanaged.passRetained(self).toOpaque()  // released by `resume(_:)` below
    if let pool {
      withExtendedLifetime(pool) { _ = csched_task_submit_(target, task) }
    } else {
      csched_swift_submit_follow_up_(target, job)
    }
  }
}

/// The callback of a job of `resumingType`: resumes the task, and releases the object that the job's `context` retains.
private func resume(_ job: UnsafeMutablePointer<csched_job>?) {
  Unmanaged<PendingResumption>.fromOpaque(job!.pointee.context).takeRetainedValue().resume()
}

/// The C core's function table for jobs that resume a task. A dropped job resumes it too.
private let resumingType = JobType(
  csched_job_type(
    run: { resume($0) }, drop: { resume($0) }, release: { csched_task_free_($0, CSCHED_TASK_PLAIN) }))
