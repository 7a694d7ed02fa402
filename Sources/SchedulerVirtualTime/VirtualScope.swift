internal import CSchedulerVirtualTime
internal import Dispatch
internal import Scheduler
internal import Synchronization

/// One virtual time, that of one `withVirtualTime`: its runnable jobs, its timers, and the driving thread, which runs
/// the jobs one at a time.
final class VirtualScope: SurroundingTime {
  struct State {
    var queue: JobQueue  // the runnable jobs
    /// Jobs that wait for their time: tasks in a sleep on one of Swift's own clocks. The keys come from `makeKey`.
    var timers: [Int: (job: RoutedJob, instant: MonotonicTime)] = [:]
    /// Tasks in `advance` whose instant the clock has not reached. At that instant they move to `arrived`, and resume
    /// when no other job can run.
    var tasksInAdvance: [Int: CheckedContinuation<Void, Never>] = [:]
    var arrived: [CheckedContinuation<Void, Never>] = []
    /// Tasks in `run`. They resume when the scope has no job, sleep or action.
    var tasksInRun: [CheckedContinuation<Void, Never>] = []
    var lastKey = 0  // the most recently used key in `timers` and `tasksInAdvance`
    var starts = JobStarts()  // start times of jobs, to estimate sleeps
    var firstTask: UInt64 = 0  // number of the scope's first task, 0 before it; older tasks have lower numbers
    var escapes = 0  // how many jobs other threads have added
    var jobs = 0  // how many jobs have started, for `limits.jobs`
    var driverWaits = false  // whether the driving thread waits for `wakeSignal`
    var isCancelled = false  // the caller of `withVirtualTime` was cancelled
    var bodyHasEnded = false
    var isOver = false  // set by `end`: the scope accepts no more jobs

    mutating func makeKey() -> Int {
      lastKey += 1
      return lastKey
    }
  }

  /// The scope of the current task, a task-local value: tasks that this task creates inherit the scope, except detached
  /// ones.
  @TaskLocal static var inherited: VirtualScope?

  let scheduler = TestScheduler()
  let limits: VirtualTime.Limits
  let state: Protected<State>
  private let wakeSignal = DispatchSemaphore(value: 0)  // the idle driving thread waits for it; `wake` signals it

  init(seed: UInt64?, limits: VirtualTime.Limits) {
    self.limits = limits
    state = Protected(State(queue: JobQueue(seed: seed)))
  }

  // MARK: Incoming jobs

  /// The scope whose job runs on this thread; nil if there is none. Set by `enter`.
  static var threadScope: VirtualScope? {
    csched_testing_scope_().map { Unmanaged<VirtualScope>.fromOpaque($0).takeUnretainedValue() }
  }

  /// The scope of the current task or thread, unless its body has ended.
  static var current: VirtualScope? {
    (threadScope ?? inherited).flatMap { $0.state.read(\.isOver) ? nil : $0 }
  }

  /// Calls `action`. During the call, `threadScope` is this scope on this thread; after it, nil. So calls must not be
  /// nested.
  func enter<Result>(_ action: () -> Result) -> Result {
    csched_testing_set_scope_(Unmanaged.passUnretained(self).toOpaque())
    defer { csched_testing_set_scope_(nil) }
    return action()
  }

  /// Called for each job by the executors that replace Swift's own. Adds `job` to the scope that owns it, to run after
  /// `delay`. Returns false if no open scope owns the job: the caller then enqueues the job on Swift's own executor.
  static func routeToOwner(_ job: RoutedJob, after delay: Duration? = nil) -> Bool {
    guard Routes.hasOpenScopes else { return false }
    let threadScope = threadScope  // `inherited` is read only without it: a task-local value costs a search
    guard
      let owner = Routes.owner(
        of: job, threadScope: threadScope, inherited: threadScope == nil ? inherited : nil)
    else { return false }
    return owner.add(job, after: delay, isEscape: owner !== threadScope)  // an escape: added from outside of the scope
  }

  /// Whether this scope may own `job`. False if the scope is over, or the job's task is older than the scope: such a
  /// task runs in real time.
  /// The first call with a task records the scope's first task.
  func mayOwn(_ job: RoutedJob) -> Bool {
    let number = job.task
    return state.withLock {
      guard !$0.isOver, let number else { return !$0.isOver }  // no number: an actor's own job
      if $0.firstTask == 0 { $0.firstTask = number }
      return number >= $0.firstTask
    }
  }

  /// Queues `job`; with a `delay`, starts its timer instead. Returns false if the scope is over. `isEscape`: this
  /// thread runs no job of the scope.
  private func add(_ job: RoutedJob, after delay: Duration?, isEscape: Bool) -> Bool {
    let instant = delay.map { scheduler.now.advanced(by: duration(ofWaitEndingIn: $0)) }
    // nil: the scope is over; .some(nil): the job is queued; .some(a key): the job waits in `timers`
    let key: Int?? = state.withLock { state in
      if state.isOver { return nil }
      if isEscape { state.escapes += 1 }
      guard let instant else {
        state.queue.append(job)
        return .some(nil)
      }
      let key = state.makeKey()
      state.timers[key] = (job, instant)
      return key
    }
    guard let key else { return false }
    if let key, let instant {
      scheduler.schedule(at: instant) { [weak self] in  // weak: the scope owns the scheduler, which retains this
        self?.state.withLock { if let timer = $0.timers.removeValue(forKey: key) { $0.queue.append(timer.job) } }
      }
    }
    wake()
    return true
  }

  var target: SchedulerTarget { scheduler }
  var isHere: Bool { VirtualScope.threadScope === self }

  /// Returns the estimated duration of a wait that ends in `remaining`. The task has read the clock a short time ago,
  /// so its wait is longer: assume a round one (see JobStarts). On another thread than the driving one, of which
  /// `starts` has no start, `remaining` itself.
  func duration(ofWaitEndingIn remaining: Duration) -> Duration {
    isHere ? remaining.roundest(within: state.withLock { $0.starts.elapsed }) : remaining
  }

  /// Wakes the driving thread if it waits in `waitForOthers`. Call it after a change of `state`. Only the call that
  /// clears `driverWaits` signals, so a wait gets one signal.
  func wake() {
    let driverWaited = state.withLock { state in
      defer { state.driverWaits = false }
      return state.driverWaits
    }
    if driverWaited { wakeSignal.signal() }
  }

  /// Called by the driving thread when it has no work. Waits until another thread adds work or cancels the body, for
  /// `limits.patience` at most. Returns false if neither has happened. A new job and a cancellation signal
  /// `wakeSignal`. A new sleep or action does not, but changes `scheduler.pendingCount`, which this method checks every
  /// 2 ms.
  ///
  /// - Parameters:
  ///   - pending: `scheduler.pendingCount`, read before this thread searched for work and found none.
  ///   - bodyIsCancelled: whether the caller's cancellation has reached the body. Then only work ends the wait.
  func waitForOthers(since pending: Int, bodyIsCancelled: Bool) -> Bool {
    let hasWork = state.withLock { state in
      state.driverWaits =
        state.queue.isEmpty && state.arrived.isEmpty && state.tasksInRun.isEmpty
        && (bodyIsCancelled || !state.isCancelled)
      return !state.driverWaits
    }
    if hasWork { return true }  // work was added since the search for it, or the caller is cancelled
    let deadline = DispatchTime.now() + limits.patience.dispatchInterval
    repeat {
      if wakeSignal.wait(timeout: min(deadline, .now() + .milliseconds(2))) == .success { return true }
    } while scheduler.pendingCount == pending && .now() < deadline
    let wasWoken = state.withLock { state in  // a `wake` may have cleared `driverWaits` after the final wait above
      defer { state.driverWaits = false }
      return !state.driverWaits
    }
    if wasWoken { wakeSignal.wait() }  // consumes that `wake`'s signal, which would end a later wait too early
    return wasWoken || scheduler.pendingCount != pending
  }

  // MARK: Moving time

  /// Suspends the task until the clock reaches `instant`, and all jobs due by then have run. Returns at once if the
  /// scope is over.
  func advance(to instant: MonotonicTime, isolation: isolated (any Actor)?) async {
    await withCheckedContinuation(isolation: isolation) { continuation in
      let key: Int? = state.withLock { state in
        if state.isOver { return nil }
        let key = state.makeKey()
        state.tasksInAdvance[key] = continuation
        return key
      }
      guard let key else { return continuation.resume() }  // the scope is over
      scheduler.schedule(at: instant) { [weak self] in
        self?.state.withLock {
          if let task = $0.tasksInAdvance.removeValue(forKey: key) { $0.arrived.append(task) }
        }
      }
      wake()
    }
  }

  /// Suspends the task until the scope has no sleep, action or job. Returns at once if the scope is over.
  func run(isolation: isolated (any Actor)?) async {
    await withCheckedContinuation(isolation: isolation) { continuation in
      let isOver = state.withLock {
        if !$0.isOver { $0.tasksInRun.append(continuation) }
        return $0.isOver
      }
      if isOver { continuation.resume() } else { wake() }
    }
  }

  /// Makes the driving thread cancel the body's task. Called if the task that called `withVirtualTime` is cancelled.
  func cancel() {
    state.withLock { $0.isCancelled = true }
    wake()
  }
}

extension Duration {
  /// This duration for a Dispatch timeout: 0 if negative, `.never` if its nanoseconds would overflow `Int`.
  var dispatchInterval: DispatchTimeInterval {
    let nanoseconds = self / .nanoseconds(1)
    return nanoseconds < 9e18 ? .nanoseconds(max(0, Int(nanoseconds))) : .never
  }
}

/// When jobs started, in real time. Gives an upper bound for the duration of a sleep on one of Swift's own clocks.
///
/// Such a sleep arrives as an instant of real time, because the task has read the clock and added the duration. So the
/// duration is at least the time from now to that instant, and at most that time plus `elapsed`: the time since the
/// task's earliest possible read of the clock.
struct JobStarts {
  // when the running job started; with a seed, the oldest recorded start of that job's task
  private var earliestStart = ContinuousClock.now
  /// With a seed: the most recent starts of each task, by task number. A call of an actor is then a job of its own, so
  /// a task may read the clock in one job and sleep in a later one. Four starts are kept, which is a guess.
  private var startsByTask: [UInt64: [ContinuousClock.Instant]] = [:]

  /// Records that `job` starts now. `hasRandomOrder`: there is a seed, so the order of jobs is random.
  mutating func recordStart(_ job: RoutedJob, hasRandomOrder: Bool) {
    earliestStart = .now
    guard hasRandomOrder, let task = job.task else { return }
    startsByTask[task, default: []].append(earliestStart)
    if startsByTask[task]!.count > 4 { startsByTask[task]!.removeFirst() }
    earliestStart = startsByTask[task]![0]
  }

  /// The longest possible time since the running task read the clock for its sleep.
  var elapsed: Duration { ContinuousClock.now - earliestStart }
}

extension Duration {
  /// Returns the duration that the programmer most likely wrote for a wait that ends in `self`, and began up to `slack`
  /// ago.
  ///
  /// It is round: for each power of ten (in ns) this looks at the first and the last multiple in the range, which
  /// counts as the power, below 1 ms as its square. And the clock was read just before the wait, or just after the
  /// job's start: a multiple within some microseconds of `self` counts most, then one within some microseconds of
  /// `self + slack`. For a task that sleeps after some work, the first finds 9 ms, not 10 ms; where the thread had no
  /// processor for a while, or the instant was made before the work, the second finds 1 s in 991.2 ms. Zero if the
  /// range ends at or before zero.
  package func roundest(within slack: Duration) -> Duration {
    // 10^9 s are 10^18 ns, which fit into Int64; much more would overflow `nanoseconds`
    guard components.seconds < 1_000_000_000, self + slack > .zero else { return max(self, .zero) }
    let low = max(1, nanoseconds), high = (self + slack).nanoseconds
    let anywhere = 0.1 / max(1e-3, Double(slack.nanoseconds) / 1e6)  // densities are per ms
    var best = (duration: low, likelihood: 0.0)
    var step: Int64 = 1_000_000_000_000_000_000  // 10^18, the largest power of ten in Int64
    while step > 1 {
      let roundness = Double(step) / 1e6
      for multiple in [(low + step - 1) / step * step, high / step * step] where low <= multiple && multiple <= high {
        let density =
          Self.density(at: multiple - low, scale: 1e4) + 0.3 * Self.density(at: high - multiple, scale: 3e4) + anywhere
        let likelihood = min(roundness, roundness * roundness) * density
        if likelihood > best.likelihood { best = (multiple, likelihood) }
      }
      step /= 10
    }
    return .nanoseconds(best.duration)  // `low`: no multiple of 10 ns is in the range
  }

  /// Returns how likely a distance is, per ms. Up to `scale`, in ns, it is likely; beyond, it falls with the fourth
  /// power.
  private static func density(at distance: Int64, scale: Double) -> Double {
    let relative = Double(distance) / scale
    return 1e6 / scale / ((1 + relative * relative) * (1 + relative * relative))
  }

  private var nanoseconds: Int64 { components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000 }
}
