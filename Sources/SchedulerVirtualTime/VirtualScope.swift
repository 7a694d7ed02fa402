internal import CSchedulerVirtualTime
internal import Dispatch
internal import Scheduler
internal import Synchronization

/// The tasks of one `withVirtualTime`: its runnable jobs, its timers, and the thread that runs the jobs one at a time.
final class VirtualScope: Sendable {
  struct State {
    var queue: JobQueue
    /// Jobs that wait for their time: tasks in a sleep on one of Swift's own clocks.
    var timers: [Int: (job: RoutedJob, instant: MonotonicTime)] = [:]
    /// Tasks in `advance` that are not due. At their time they move to `arrived`. They resume when no other job can run.
    var advancing: [Int: CheckedContinuation<Void, Never>] = [:]
    var arrived: [CheckedContinuation<Void, Never>] = []
    /// Tasks in `run`.
    var running: [CheckedContinuation<Void, Never>] = []
    var nextKey = 0  // the newest key in `timers` and `advancing`
    var starts = JobStarts()
    // the number of the scope's first task; tasks created before the scope have lower numbers
    var firstTask: UInt64 = 0
    var escapes = 0  // jobs that other threads have added
    var jobs = 0  // jobs that have run
    var isIdle = false  // the driving thread waits for `wakening`
    var isCancelled = false
    var bodyHasEnded = false
    var isOver = false  // no more jobs are accepted

    mutating func makeKey() -> Int {
      nextKey += 1
      return nextKey
    }
  }

  /// The scope of the current task. Tasks that it creates inherit the scope, except detached ones.
  @TaskLocal static var inherited: VirtualScope?

  let scheduler = TestScheduler()
  let limits: VirtualTime.Limits
  let state: Protected<State>
  private let wakening = DispatchSemaphore(value: 0)  // signalled by `wake` if `isIdle`

  init(seed: UInt64?, limits: VirtualTime.Limits) {
    self.limits = limits
    state = Protected(State(queue: JobQueue(seed: seed)))
  }

  // MARK: Incoming jobs

  /// The scope whose job runs on this thread.
  static var here: VirtualScope? {
    csched_testing_scope_().map { Unmanaged<VirtualScope>.fromOpaque($0).takeUnretainedValue() }
  }

  /// The scope of the current task or thread, unless its body has ended.
  static var current: VirtualScope? {
    (here ?? inherited).flatMap { $0.state.read(\.isOver) ? nil : $0 }
  }

  /// Calls `action` while `here` on this thread is this scope.
  func enter<Result>(_ action: () -> Result) -> Result {
    csched_testing_set_scope_(Unmanaged.passUnretained(self).toOpaque())
    defer { csched_testing_set_scope_(nil) }
    return action()
  }

  /// Adds `job`, to run after `delay`, to the scope that owns the job. Returns false if no scope owns it, or the scope is over.
  static func take(_ job: RoutedJob, after delay: Duration? = nil) -> Bool {
    guard Routes.areInUse else { return false }
    let here = here
    guard let owner = Routes.owner(of: job, here: here, inherited: here == nil ? inherited : nil) else { return false }
    return owner.add(job, after: delay, isEscape: owner !== here)
  }

  /// Whether this scope may own a job that has no owner: not if the scope is over, or the job's task is older than the scope.
  func mayOwn(_ job: RoutedJob) -> Bool {
    let number = job.task
    return state.withLock {
      guard !$0.isOver, let number else { return !$0.isOver }
      if $0.firstTask == 0 { $0.firstTask = number }
      return number >= $0.firstTask
    }
  }

  /// Queues `job`, or starts its timer. Returns false if the scope is over. `isEscape`: another thread adds it.
  private func add(_ job: RoutedJob, after delay: Duration?, isEscape: Bool) -> Bool {
    // see JobStarts: the exact delay is unknown, so the roundest possible one is assumed
    let instant = delay.map { delay in
      scheduler.now.advanced(by: isEscape ? delay : delay.roundest(within: state.withLock { $0.starts.elapsed }))
    }
    // nil: the scope is over; .some(nil): the job is queued; a key: the job waits in `timers`
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
      scheduler.schedule(at: instant) { [weak self] in
        self?.state.withLock { if let timer = $0.timers.removeValue(forKey: key) { $0.queue.append(timer.job) } }
      }
    }
    wake()
    return true
  }

  /// Wakes the driving thread if it waits for a job.
  func wake() {
    let wasIdle = state.withLock { state in
      defer { state.isIdle = false }
      return state.isIdle
    }
    if wasIdle { wakening.signal() }
  }

  /// Waits until another thread adds work, for `patience` at most. Returns whether work was added.
  ///
  /// An added job wakes this thread. A sleep or an action that another thread adds to the scheduler does not wake it. So this method checks the
  /// number of sleeps and actions every 2 ms.
  ///
  /// - Parameter pending: the number of pending sleeps and actions before this thread found no job.
  func waitForOthers(since pending: Int) -> Bool {
    let hasWork = state.withLock { state in
      state.isIdle = state.queue.isEmpty && !state.isCancelled
      return !state.isIdle
    }
    if hasWork { return true }
    let deadline = DispatchTime.now() + limits.patience.dispatchInterval
    repeat {
      if wakening.wait(timeout: min(deadline, .now() + .milliseconds(2))) == .success { return true }
    } while scheduler.pendingCount == pending && .now() < deadline
    let wasWoken = state.withLock { state in
      defer { state.isIdle = false }
      return !state.isIdle
    }
    if wasWoken { wakening.wait() }  // consumes the signal that `wake` sends after it cleared `isIdle`
    return wasWoken || scheduler.pendingCount != pending
  }

  // MARK: Moving time

  /// Suspends the task until the clock reaches `instant`, and all jobs due by then have run.
  func advance(to instant: MonotonicTime, isolation: isolated (any Actor)?) async {
    await withCheckedContinuation(isolation: isolation) { continuation in
      let key: Int? = state.withLock { state in
        if state.isOver { return nil }
        let key = state.makeKey()
        state.advancing[key] = continuation
        return key
      }
      guard let key else { return continuation.resume() }
      scheduler.schedule(at: instant) { [weak self] in
        self?.state.withLock { if let waiting = $0.advancing.removeValue(forKey: key) { $0.arrived.append(waiting) } }
      }
      wake()
    }
  }

  /// Suspends the task until no sleep, action or job remains.
  func run(isolation: isolated (any Actor)?) async {
    await withCheckedContinuation(isolation: isolation) { continuation in
      let isOver = state.withLock {
        if !$0.isOver { $0.running.append(continuation) }
        return $0.isOver
      }
      if isOver { continuation.resume() } else { wake() }
    }
  }

  /// Makes the driving thread cancel the body's task.
  func cancel() {
    state.withLock { $0.isCancelled = true }
    wake()
  }
}

extension Duration {
  var dispatchInterval: DispatchTimeInterval {
    let nanoseconds = self / .nanoseconds(1)
    return nanoseconds < 9e18 ? .nanoseconds(max(0, Int(nanoseconds))) : .never
  }
}

/// When the running job started, in real time. Used to estimate the duration of a sleep.
///
/// A sleep on one of Swift's own clocks arrives as an instant of real time. The task read the clock earlier in the same job and added its
/// duration. So the exact duration is unknown, but it has a lower and an upper bound.
struct JobStarts {
  private var began = ContinuousClock.now  // with a seed: the oldest recorded start of the job's task
  /// The four most recent starts of each task. With a seed, a task is queued again at each call, even between its read of the clock and its sleep.
  private var ofTasks: [UInt64: [ContinuousClock.Instant]] = [:]

  /// Records that `job` starts now. `isDrawn`: there is a seed.
  mutating func note(_ job: RoutedJob, isDrawn: Bool) {
    began = .now
    guard isDrawn, let task = job.task else { return }
    ofTasks[task, default: []].append(began)
    if ofTasks[task]!.count > 4 { ofTasks[task]!.removeFirst() }
    began = ofTasks[task]![0]
  }

  /// The longest time since a sleeping task may have read the clock.
  var elapsed: Duration { ContinuousClock.now - began }
}

extension Duration {
  /// Returns the duration with the fewest digits in the range from this duration to this duration plus `slack`: most likely the programmer wrote it.
  func roundest(within slack: Duration) -> Duration {
    guard components.seconds < 1_000_000_000, self + slack > .zero else { return max(self, .zero) }
    let low = max(1, nanoseconds), high = (self + slack).nanoseconds
    var step: Int64 = 1_000_000_000_000_000_000
    while step > 1 {
      let multiple = high / step * step
      if multiple >= low { return .nanoseconds(multiple) }
      step /= 10
    }
    return .nanoseconds(low)
  }

  private var nanoseconds: Int64 { components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000 }
}
