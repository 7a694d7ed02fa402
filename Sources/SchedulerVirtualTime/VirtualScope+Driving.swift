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

  private func runUntilEnd(of task: Task<Void, Never>) -> VirtualTimeError? {
    var failure: VirtualTimeError?
    while !state.read(\.bodyHasEnded) {
      if state.read(\.isCancelled) && !task.isCancelled { task.cancel() }
      let pending = scheduler.pendingCount
      if runNext() || moveOn() { continue }
      if state.read(\.jobs) >= limits.jobs {
        task.cancel()
        return .endless(jobs: limits.jobs)
      }
      if failure == nil && waitForOthers(since: pending) { continue }
      if failure != nil { return failure }
      // The body may still end when it is cancelled, so that no part of it remains.
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
      job.runWithTurns()
      state.withLock { $0.queue.ended() }
    case .global: job.run()
    }
    return true
  }

  /// Takes the next step when no job can run. Returns whether there was one.
  private func moveOn() -> Bool {
    if state.read(\.jobs) >= limits.jobs { return false }
    scheduler.advance()  // runs the actions that are due now
    if !state.read(\.queue.isEmpty) { return true }
    let arrived = state.withLock { $0.arrived.isEmpty ? nil : $0.arrived.removeFirst() }
    if let arrived {
      arrived.resume()
      return true
    }
    let now = scheduler.now
    scheduler.step()
    scheduler.advance()  // what is due at the same instant runs before the tasks that it resumes
    if scheduler.now != now || !state.withLock({ $0.queue.isEmpty && $0.arrived.isEmpty }) { return true }
    let running = state.withLock { state in
      defer { state.running = [] }
      return state.running
    }
    for each in running { each.resume() }
    return !running.isEmpty
  }

  /// The main thread runs the job, because other code may use the main actor; this thread waits.
  private func runOnMain(_ job: RoutedJob) {
    let done = DispatchSemaphore(value: 0)
    DispatchQueue.main.async {
      self.enter { job.run() }
      done.signal()
    }
    if done.wait(timeout: .now() + limits.patience.dispatchInterval) == .success { return }
    warn(
      "a job of the main actor waits for the main thread. Does that wait for something else? Await instead of blocking it."
    )
    done.wait()
  }

  /// Ends the remaining sleeps, runs all jobs that need no time, and passes the rest to Swift's own executors.
  private func end() {
    while runNext() {}
    scheduler.endSleeps()
    while runNext() {}
    let left = state.withLock { state in
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
    var queue = left.queue
    while let job = queue.next() { VirtualExecutors.release(job, after: nil) }
    for timer in left.timers.values {
      VirtualExecutors.release(timer.job, after: scheduler.now.duration(to: timer.instant))
    }
    for each in left.advancing.values + left.arrived + left.running { each.resume() }
  }
}
