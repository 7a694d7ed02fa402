internal import CScheduler
internal import Synchronization

/// The core of the main thread's schedulers: owns the main loop. Another library's main loop, the host (Dispatch's,
/// say), may run it on request.
final class MainCore: TargetCore, @unchecked Sendable {
  // Unchecked, as its superclass is.
  static let shared = MainCore()
  let loop: OpaquePointer
  private let host = Protected<Host?>(nil)
  private let hasHost = Atomic(false)  // set once, after `host`. Without a host, submissions need not lock `host`.
  private let requestedRuns = Atomic(0)  // the runs that the host was asked for and has not started

  private init() {
    guard let loop = csched_main_loop() else { misuse("MainScheduler.instance", "no memory for its loop") }
    self.loop = loop
    super.init(csched_loop_target(loop), isOnMain: true)
    atEndOfProcess { MainCore.shared.reportUnrunActions() }
  }

  /// Reports the actions of the main loop that never ran. Called at process exit, on the exiting thread. Does not
  /// release the actions, because releasing their captures would run user code at exit.
  private func reportUnrunActions() {
    var queued = 0, delayed = 0  // `queued`: the C core counts up to 1000, and without the jobs of `EndOfRunJob`
    guard csched_loop_count_unrun_(loop, endOfRunType.pointer, &queued, &delayed) else { return }
    // In the message, "since" means: since these actions were scheduled.
    let count = "\(queued < 1_000 ? "" : "at least ")\(queued + delayed)"
    reportLine(
      "MainScheduler",
      """
      the process ends, and \(count) of its actions never ran\(delayed == 0 ? "" : " (\(delayed) delayed)"): nothing has run the main loop \
      since. \(Self.advice)
      """)
    _ = MainScheduler.instance  // makes the scheduler that the observers receive
    for _ in 0..<(DropObservers.areRegistered ? queued + delayed : 0) { DropObservers.notify(self, .stopped) }
  }

  private static let advice = """
    Call MainScheduler.run() on the main thread; or MainScheduler.useDispatchMain() (module SchedulerDispatch) before dispatchMain() or \
    RunLoop.main.run(); or, if main is async, link the product SchedulerExecutorsLinked.
    """

  override var isExclusive: Bool { true }
  // hidden: the thread waits in an action of this scheduler, and meanwhile runs an action of another one
  override var isCallerIsolated: Bool {
    Self.isOnThread ? !csched_swift_is_hidden_(target) : csched_target_is_inside(target)
  }
  override func makeScheduler() -> any ImmediateSchedulerType & AnyObject { MainScheduler.instance }

  /// Whether this thread is the main thread, or the thread to which a host has attached the loop.
  static var isOnThread: Bool { csched_is_main_thread() || csched_loop_is_on_thread(shared.loop) }

  /// Whether this is the loop's thread, the loop is open, and no action waits or runs in it. Then the caller may run
  /// its work at once, in order.
  static var isFree: Bool {
    let loop = shared.loop
    // The first call on the main thread attaches the loop to it.
    if !csched_loop_is_on_thread(loop), csched_is_main_thread() { _ = csched_main_loop() }
    return csched_loop_is_free_(loop)
  }

  /// Attaches the loop to the calling thread if needed. Stops the process with a message on any thread but the main
  /// thread, or the thread to which a host has attached the loop.
  func requireMainThread(_ function: String) {
    if !Self.isOnThread {
      misuse(
        "MainScheduler.\(function)",
        "called on another thread. Only the main thread runs the main scheduler: call it there. (An async main may leave it at each await: link SchedulerExecutorsLinked, and it stays.)"
      )
    }
    if !csched_loop_is_on_thread(loop) { csched_loop_attach(loop) }
  }

  /// Called when a run of the loop has left no work. If the loop is closed, no action runs there again. So late jobs of
  /// Swift tasks need not be excluded from running beside such actions any more: they may run on the pool
  /// (LateJobs.swift, LJ2).
  @inline(__always)
  static func endExclusionIfClosed() {
    let target = shared.target
    if target.pointee.type.pointee.is_closed(target) { shared.endExclusion() }
  }

  // MARK: runs by the program

  /// What `run` calls: with true before the program's outermost run of the loop, with false after it. Set before the
  /// first task.
  private var observeRuns: ((_ isRunning: Bool) -> Void)?
  private var runs = 0  // in progress, nested in each other. Both variables are accessed on the main thread only.

  /// Calls `body`, which runs the loop. Stops the process with a message on another thread than the main one.
  func run<Result>(_ function: String, _ body: (OpaquePointer) -> Result) -> Result {
    requireMainThread(function)
    runs += 1
    if runs == 1 {
      setRunning(true)
      observeRuns?(true)
    }
    defer {
      runs -= 1
      if runs == 0 {
        observeRuns?(false)
        setRunning(false)
      }
    }
    return body(loop)
  }

  /// Runs the loop until `deadline`, or until it is stopped. Meanwhile it looks, after half a second and then ever more
  /// seldom, whether blocks wait in Dispatch's main queue: without this library's executors, nothing runs them, nor the
  /// main actor's jobs among them. It reports that once.
  func run(_ function: String, until deadline: csched_time) -> csched_run_result {
    run(function) { loop in
      // is_kept_: this library's executors run the main queue in the loop
      var span: csched_time = 500_000_000, look = csched_time_after(csched_now(), Int64(span))
      while look < deadline, runs == 1, !hasReported, !csched_main_loop_is_kept_(), !csched_main_loop_is_hosted_() {
        let result = csched_loop_run_until(loop, look)
        if result != CSCHED_RUN_TIMED_OUT { return result }
        if csched_swift_main_queue_waits_() { reportMainQueue() }
        span *= 2
        look = csched_time_after(csched_now(), Int64(span))
      }
      return deadline == .max ? csched_loop_run(loop) : csched_loop_run_until(loop, deadline)
    }
  }

  private var hasReported = false  // that blocks wait in Dispatch's main queue. On the main thread only

  private func reportMainQueue() {
    hasReported = true
    reportLine(
      "MainScheduler.run",
      """
      the main actor's work waits in Dispatch's main queue, which nothing runs: the main thread runs the main scheduler. Link the product \
      SchedulerExecutorsLinked, which makes both one loop; or call MainScheduler.useDispatchMain() (module SchedulerDispatch), and dispatchMain() \
      in place of MainScheduler.run().
      """)
  }

  // MARK: work that nothing runs

  private let isRun = Atomic(false)  // the program or its host runs the loop: a submission need not begin a watch
  private let hasAnyHost = Atomic(false)  // that is so from now on

  private func setRunning(_ runs: Bool) {
    // relaxed, as both below: only a line on the standard error depends on them
    let runs = runs || hasAnyHost.load(ordering: .relaxed)
    isRun.store(runs, ordering: .relaxed)
    csched_main_loop_set_running_(runs)
  }

  /// Records that a host runs the loop from now on.
  func setHosted() {
    hasAnyHost.store(true, ordering: .relaxed)
    setRunning(true)
  }

  /// Has a thread watch the loop after a submission to it, unless something runs it. If the work still waits two
  /// seconds later, a line says so.
  func watch(isDue: Bool) {
    if isRun.load(ordering: .relaxed) { return }
    csched_main_loop_watch_(loop, isDue) {
      reportLine("MainScheduler", "work has waited for 2 s for the main loop, which nothing runs. \(MainCore.advice)")
    }
  }

  /// Whether the program runs the loop now: in `run`, or from C. On the loop's thread.
  var isRunning: Bool { runs > 0 || csched_target_is_inside(target) }

  /// Calls `observer` before and after the program's outermost runs of the loop from now on. On the main thread.
  func observeRuns(by observer: @escaping (_ isRunning: Bool) -> Void) { observeRuns = observer }

  // MARK: hosts

  /// Submits `work` to another library's main loop. Work that one thread submits must run in order.
  typealias Host = @Sendable (_ work: @escaping @Sendable () -> Void) -> Void

  /// Makes `host` run the loop from now on. Returns false if the loop has a host already, or if `GlobalJobs` owns the
  /// main thread.
  func enter(_ host: @escaping Host) -> Bool {
    if GlobalJobs.hasRunMain { return false }
    let isFirst = self.host.withLock { present in
      guard present == nil else { return false }
      present = host
      return true
    }
    guard isFirst else { return false }
    setHosted()
    csched_main_loop_set_hosted_()  // before `hasHost`: `submitted` checks both
    // release: a thread that sees true sees the lines above; pairs with the acquire in `submitted`
    hasHost.store(true, ordering: .releasing)
    submitted()  // requests a run for the submissions before this call
    return true
  }

  /// Requests a run of the loop from the host, if there is one. Called after each submission to the main loop.
  /// First submits an `EndOfRunJob` behind the submitted action. The requested run ends at that job. So host work that
  /// was submitted between two actions also runs between them. A closed loop refuses the job. Then the run executes all
  /// ready work, because earlier work may have no such job.
  func submitted() {
    watch(isDue: true)
    // is_hosted_: false in a child of fork, where the host does not run
    guard hasHost.load(ordering: .acquiring), csched_main_loop_is_hosted_(), let host = host.read() else { return }
    let endJob = EndOfRunJob(), hasEndJob = endJob.submit(to: target)
    requestedRuns.add(1, ordering: .relaxed)  // relaxed: a count; the host orders this call and its closure
    host {  // the host calls this closure later, on its main thread
      // hasLaterRun: another requested run follows, so the loop need not notify the host of remaining jobs
      let core = MainCore.shared, hasLaterRun = core.requestedRuns.subtract(1, ordering: .relaxed).newValue > 0
      let hasMore = core.withLoopAttached { loop in  // without an end job: at most 64 jobs; after 64, more may wait
        hasEndJob ? csched_loop_run_through_(loop, endJob.job, hasLaterRun) : csched_loop_run_ready(loop, 64) == 64
      }
      // hasEndJob: jobs behind the end job have requested runs of their own
      if !hasMore { MainCore.endExclusionIfClosed() } else if !hasEndJob { core.submitted() }
    }
  }

  /// As ``submitted()``, for a delayed action: only one that `isDue` must be run by the host now. For a later one the
  /// host has a timer.
  func submitted(isDue: Bool) { if isDue { submitted() } else { watch(isDue: false) } }

  /// Runs at most 64 ready jobs of the loop. The host calls this while the loop's descriptor is readable.
  func runReadyInHost() {
    let hasMore = withLoopAttached { loop in
      let hasMore = csched_loop_run_ready(loop, 64) == 64
      // consumes a pending stop request, for which the descriptor would stay readable
      _ = csched_loop_run_until(loop, 0)
      return hasMore
    }
    if !hasMore { MainCore.endExclusionIfClosed() }
  }

  /// Runs the timers of the loop that are due. The host calls this at the deadline of the next timer. Requests a run if
  /// jobs remain.
  func runDueTimers() {
    let hasMore = withLoopAttached { loop in
      let hasMore = csched_loop_run_through_(loop, nil, false)  // nil: no submitted jobs, only timers
      _ = csched_loop_run_until(loop, 0)  // consumes a pending stop request, which must not end a later run
      return hasMore
    }
    if hasMore { submitted() }  // they may have no requested run: C code and queues on the loop submit without one
  }

  /// Calls `body` with the loop attached to this thread, the host's main thread. Dispatch may change that thread, so
  /// the loop is then detached again.
  func withLoopAttached<Result>(_ body: (OpaquePointer) -> Result) -> Result {
    csched_loop_attach(loop)
    defer { if !csched_is_main_thread() { csched_loop_detach(loop) } }
    return body(loop)
  }
}

/// A job that does nothing, submitted behind an action: a run by the host ends at this job. The host's closure retains
/// it until then.
private final class EndOfRunJob: @unchecked Sendable {
  // Unchecked, because of the pointer. Only the C core changes the job.
  private let storage = JobStorage()  // the job's memory, inside this object
  var job: UnsafeMutablePointer<csched_job> { storage.job }
  init() { csched_job_init(job, endOfRunType.pointer, Unmanaged.passUnretained(self).toOpaque()) }

  /// Submits the job. Returns whether `target` accepted it.
  func submit(to target: UnsafeMutablePointer<csched_target>) -> Bool {
    Counted.jobs(1)  // for the diagnostic count; the job's `release` subtracts it
    _ = Unmanaged.passRetained(self)  // the job's `release` releases it, also after a refusal
    return csched_target_submit(target, job) == 0  // 0: accepted
  }
}

private let endOfRunType = JobType(
  csched_job_type(
    run: { _ in }, drop: { _ in },
    release: {
      Counted.jobs(-1)
      Unmanaged<EndOfRunJob>.fromOpaque($0!.pointee.context).release()
    }))
