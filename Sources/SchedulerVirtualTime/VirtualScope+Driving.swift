internal import Dispatch
internal import Scheduler

extension VirtualScope {
  /// Creates the task of `body`, which inherits from the caller's task. It runs in ``drive(_:)``.
  func begin(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
    Routes.open()
    return enter {
      Task {
        await VirtualScope.$inherited.withValue(self) { await body() }
        state.withLock { $0.bodyHasEnded = true }
      }
    }
  }

  /// Runs `body`, and the jobs that result from it, on this thread, until the body has ended.
  ///
  /// - Returns: the reason if the body could not end; nil if it ended.
  func drive(_ body: Task<Void, Never>) -> VirtualTimeError? {
    defer { Routes.close(self) }
    return enter {
      defer { end() }
      return runUntilEnd(of: body)
    }
  }

  /// Runs jobs and moves the clock until the body has ended. Returns why it could not end, or nil.
  private func runUntilEnd(of task: Task<Void, Never>) -> VirtualTimeError? {
    var failure: VirtualTimeError?
    while !state.read(\.bodyHasEnded) {
      if state.read(\.isCancelled) && !task.isCancelled { task.cancel() }
      let pending = scheduler.pendingCount
      if runNext() || advanceOneStep() { continue }
      if state.read(\.jobs) >= limits.jobs {
        task.cancel()
        return .endless(jobs: limits.jobs)
      }
      if failure == nil && waitForOthers(since: pending) { continue }
      if failure != nil { return failure }  // stalled again, after the cancellation below
      // Cancel the stalled body, and continue: the cancelled body may end.
      failure = .stalled(at: scheduler.now)
      task.cancel()
    }
    return failure
  }

  /// Runs one job. Returns whether there was one.
  private func runNext() -> Bool {
    let (job, isDrawn): (RoutedJob?, Bool) = state.withLock { state in
      guard state.jobs < limits.jobs, let job = state.queue.next() else { return (nil, false) }
      state.jobs += 1
      state.starts.note(job, isDrawn: state.queue.isDrawn)
      return (job, state.queue.isDrawn)
    }
    guard let job else { return false }
    switch job.place {
    case .main: runOnMain(job)
    case .global where isDrawn:
      job.runWithTurns()  // its calls of actors are queued
      state.withLock { $0.queue.ended() }
    case .global: job.run()
    }
    return true
  }

  /// When no job can run: runs due actions, else resumes one arrived task, else moves the clock to the next action, else resumes the tasks in `run`.
  /// Returns false if none of these happened.
  private func advanceOneStep() -> Bool {
    if state.read(\.jobs) >= limits.jobs { return false }
    scheduler.advance()  // runs the actions that are due now
    if !state.read(\.queue.isEmpty) { return true }
    let arrived = state.withLock { $0.arrived.isEmpty ? nil : $0.arrived.removeFirst() }
    if let arrived {
      arrived.resume()
      return true
    }
    let now = scheduler.now
    scheduler.step()  // moves the clock to the next action
    scheduler.advance()  // run all other actions of this instant before the tasks that these actions resume
    if scheduler.now != now || !state.withLock({ $0.queue.isEmpty && $0.arrived.isEmpty }) { return true }
    let running = state.withLock { state in  // the tasks in `run`: nothing remains to wait for
      defer { state.running = [] }
      return state.running
    }
    for each in running { each.resume() }
    return !running.isEmpty
  }

  /// Runs the job on the main thread, because other code may use the main actor. This thread waits.
  private func runOnMain(_ job: RoutedJob) {
    let done = DispatchSemaphore(value: 0)
    DispatchQueue.main.async {
      self.enter { job.run() }  // jobs that this job creates belong to this scope
      done.signal()
    }
    if done.wait(timeout: .now() + limits.patience.dispatchInterval) == .success { return }
    warn(
      "a job of the main actor waits for the main thread. Does that wait for something else? Await instead of blocking it."
    )
    done.wait()
  }

  /// Ends the remaining sleeps, runs all jobs that need no time, and enqueues the remaining jobs on Swift's own executors.
  private func end() {
    while runNext() {}
    scheduler.endSleeps()
    while runNext() {}
    let old = state.withLock { state in
      defer {
        state.isOver = true
        state.timers = [:]
        state.advancing = [:]
        state.arrived = []
        state.running = []
      }
      return state
    }
    scheduler.close()
    var queue = old.queue
    while let job = queue.next() { VirtualExecutors.release(job, after: nil) }
    for timer in old.timers.values {
      VirtualExecutors.release(timer.job, after: scheduler.now.duration(to: timer.instant))
    }
    for each in old.advancing.values + old.arrived + old.running { each.resume() }
  }
}
