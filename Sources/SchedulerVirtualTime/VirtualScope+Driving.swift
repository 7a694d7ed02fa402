internal import Dispatch
internal import Scheduler

extension VirtualScope {
  /// Opens the scope, and creates the task of `body`, which inherits the caller's task-local values. The task's jobs
  /// run in ``drive(_:)``.
  func begin(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
    Routes.open()
    return enter {  // so that `threadScope` is this scope, which then owns the task's first job
      Task {
        await VirtualScope.$inherited.withValue(self) { await body() }
        state.withLock { $0.bodyHasEnded = true }  // `runUntilEnd` reads it after this job
      }
    }
  }

  /// Runs the jobs of the scope on this thread, the driving thread, until the task `body` has ended. Then ends and
  /// closes the scope.
  ///
  /// - Returns: the reason if the body could not end; nil if it ended.
  func drive(_ body: Task<Void, Never>) -> VirtualTimeError? {
    defer { Routes.close(self) }  // after `end`: the jobs that `end` runs still belong to the scope
    return enter {
      defer { end() }
      return runUntilEnd(of: body)
    }
  }

  /// Runs jobs and moves the clock until the body has ended, is endless, or has stalled twice. Returns why the body
  /// could not end, or nil.
  /// A body that stalls is cancelled. If it ends after that, this still returns `.stalled`.
  private func runUntilEnd(of task: Task<Void, Never>) -> VirtualTimeError? {
    var failure: VirtualTimeError?
    while !state.read(\.bodyHasEnded) {
      if state.read(\.isCancelled) && !task.isCancelled { task.cancel() }  // as the caller was cancelled
      let pending = scheduler.pendingCount  // before the search for work, so `waitForOthers` sees later additions
      if runNext() || advanceOneStep() { continue }
      if state.read(\.jobs) >= limits.jobs {  // the limit, not a lack of work, stopped the line above
        task.cancel()
        return .endless(jobs: limits.jobs)
      }
      if failure == nil && waitForOthers(since: pending, bodyIsCancelled: task.isCancelled) { continue }
      if failure != nil { return failure }  // stalled again, after the cancellation below
      failure = .stalled(at: scheduler.now)  // the loop continues, because the cancelled body may end
      task.cancel()
    }
    return failure
  }

  /// Runs the next job and returns true. Returns false if there is no job, or the limit of jobs is reached.
  private func runNext() -> Bool {
    let (job, hasRandomOrder): (RoutedJob?, Bool) = state.withLock { state in
      guard state.jobs < limits.jobs, let job = state.queue.next() else { return (nil, false) }
      state.jobs += 1
      state.starts.recordStart(job, hasRandomOrder: state.queue.hasRandomOrder)
      return (job, state.queue.hasRandomOrder)
    }
    guard let job else { return false }
    switch job.place {
    case .main: runOnMain(job)
    case .global where hasRandomOrder:
      job.runQueueingActorCalls()  // with a seed: calls of actors become jobs in the random order
      state.withLock { $0.queue.ended() }  // a job that this task gets from now on is no follow-up
    case .global: job.run()
    }
    return true
  }

  /// Called when no job can run. Takes the first of these steps that has an effect: run due actions; resume one task of
  /// `arrived`; move the clock to the next action, sleep or timer; resume the tasks in `run`. Returns false if no step
  /// has an effect, or the limit of jobs is reached.
  private func advanceOneStep() -> Bool {
    if state.read(\.jobs) >= limits.jobs { return false }
    scheduler.advance()  // runs the actions that are due now; they may queue jobs
    if !state.read(\.queue.isEmpty) { return true }
    let arrived = state.withLock { $0.arrived.isEmpty ? nil : $0.arrived.removeFirst() }
    if let arrived {
      arrived.resume()  // adds one job; the other arrived tasks wait until it has run
      return true
    }
    let now = scheduler.now
    scheduler.step()  // moves the clock to the next action, and runs it
    scheduler.advance()  // runs the other actions of this instant, before the tasks that these actions resume
    // an action at the present instant leaves the clock, but may have added work
    if scheduler.now != now || !state.withLock({ $0.queue.isEmpty && $0.arrived.isEmpty }) { return true }
    let tasksInRun = state.withLock { state in  // resumed now, because the scope has no job, sleep or action
      defer { state.tasksInRun = [] }
      return state.tasksInRun
    }
    for each in tasksInRun { each.resume() }
    return !tasksInRun.isEmpty
  }

  /// Runs `job`, a job of the main actor, on the main thread, where all other code of the main actor runs. The driving
  /// thread waits meanwhile, and prints a warning once if the main thread has not run the job within `limits.patience`.
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
    done.wait()  // without a limit: a job cannot be taken back
  }

  /// Ends the scope: cancels sleeps on its scheduler, runs all jobs that need no time, and enqueues the other jobs on
  /// Swift's own executors.
  private func end() {
    while runNext() {}  // the jobs that are runnable at the body's end
    scheduler.endSleeps()  // the sleeps throw CancellationError
    while runNext() {}  // the jobs of the tasks whose sleeps were cancelled
    let old = state.withLock { state in
      defer {  // after the copy below; `isOver`: from now on `add`, `advance` and `run` store nothing
        state.isOver = true
        state.timers = [:]
        state.tasksInAdvance = [:]
        state.arrived = []
        state.tasksInRun = []
      }
      return state
    }
    scheduler.close()  // drops waiting actions
    var queue = old.queue  // jobs above the limit, or added after the loops above
    while let job = queue.next() { VirtualExecutors.enqueueOnSwiftExecutor(job, after: nil) }
    for timer in old.timers.values {
      // the rest of the sleep, from now on in real time
      VirtualExecutors.enqueueOnSwiftExecutor(timer.job, after: scheduler.now.duration(to: timer.instant))
    }
    // the next jobs of these tasks run on Swift's own executors, because the scope is over
    for each in old.tasksInAdvance.values + old.arrived + old.tasksInRun { each.resume() }
  }
}
