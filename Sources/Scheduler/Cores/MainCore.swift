internal import CScheduler
internal import Synchronization

/// The core of the main thread's schedulers: owns the main loop. Another library's main loop, the host, may run the main loop on request.
final class MainCore: TargetCore, @unchecked Sendable {
  // Unchecked, as its superclass is.
  static let shared = MainCore()
  let loop: OpaquePointer
  private let host = Protected<Host?>(nil)
  private let hasHost = Atomic(false)  // set once, after `host`
  private let requestedRuns = Atomic(0)  // from the host, not started yet

  private init() {
    guard let loop = csched_main_loop() else { misuse("MainScheduler.instance", "no memory for its loop") }
    self.loop = loop
    super.init(csched_loop_target(loop), isOnMain: true)
    atEndOfProcess { MainCore.shared.reportUnrun() }
  }

  /// Reports the actions of the main loop that never ran. Called at process exit, on the exiting thread. Does not release the actions, because
  /// releasing their captures would run user code at exit.
  private func reportUnrun() {
    var queued = 0, delayed = 0
    guard csched_loop_count_unrun_(loop, markType.pointer, &queued, &delayed) else { return }
    let count = "\(queued < 1_000 ? "" : "at least ")\(queued + delayed)"
    reportLine(
      "MainScheduler",
      """
      the process ends, and \(count) of its actions never ran\(delayed == 0 ? "" : " (\(delayed) delayed)"): nothing has run the main loop \
      since. Call MainScheduler.run() on the main thread; or MainScheduler.useDispatchMain() (module SchedulerMainLoop) before dispatchMain() or \
      RunLoop.main.run(); or, if main is async, link the product SchedulerExecutorsLinked.
      """)
    _ = MainScheduler.instance  // makes the scheduler that the observers receive
    for _ in 0..<(DropObservers.areThere ? queued + delayed : 0) { DropObservers.tell(self, .stopped) }
  }

  override var isExclusive: Bool { true }

  override var isolatesHere: Bool { Self.isHere || csched_target_is_inside(target) }

  override func makeScheduler() -> any ImmediateSchedulerType & AnyObject { MainScheduler.instance }

  /// Whether the caller is on the main thread, or on the thread on which a host runs the loop.
  static var isHere: Bool { csched_is_main_thread() || csched_loop_is_on_thread(shared.loop) }

  /// Whether the caller is on the loop's thread, and no action waits or runs in the loop.
  static var isFree: Bool {
    let loop = shared.loop
    // The first call on the main thread attaches the loop to it.
    if !csched_loop_is_on_thread(loop), csched_is_main_thread() { _ = csched_main_loop() }
    return csched_loop_is_free_(loop)
  }

  /// Attaches the loop to the calling thread if needed. On any thread but the main thread, stops the process with a message.
  func requireMain(_ function: String) {
    if !Self.isHere {
      misuse(
        "MainScheduler.\(function)",
        "called on another thread. Only the main thread runs the main scheduler: call it there. (An async main may leave it at each await: link SchedulerExecutorsLinked, and it stays.)"
      )
    }
    if !csched_loop_is_on_thread(loop) { csched_loop_attach(loop) }
  }

  /// Called after a run of the loop after which no work remains. If the loop is closed, no action runs there again, so late jobs may run elsewhere.
  @inline(__always)
  static func endIfClosed() {
    let target = shared.target
    if target.pointee.type.pointee.is_closed(target) { shared.endExclusion() }
  }

  // MARK: hosts

  /// Submits `work` to another library's main loop. Work that one thread submits must run in order.
  typealias Host = @Sendable (_ work: @escaping @Sendable () -> Void) -> Void

  /// Makes `host` run the loop. Returns false if the loop has a host already, or if `GlobalJobs` owns the main thread.
  func enter(_ host: @escaping Host) -> Bool {
    if GlobalJobs.ownsMain { return false }
    let isFirst = self.host.withLock { present in
      guard present == nil else { return false }
      present = host
      return true
    }
    guard isFirst else { return false }
    csched_main_loop_set_hosted_()
    hasHost.store(true, ordering: .releasing)
    submitted()  // for submissions made before there was a host
    return true
  }

  /// Requests a run of the loop from the host, if there is one. Called after each submission to the main loop.
  /// Submits a marker job behind the submitted action; the requested run ends at that marker. So host work that was submitted between two actions
  /// also runs between them. A closed loop refuses the marker. Then the run executes all ready work, because earlier work may have no marker.
  func submitted() {
    guard hasHost.load(ordering: .acquiring), csched_main_loop_is_hosted_(), let host = host.read() else { return }
    let mark = HostMark(), isMarked = mark.submit(to: target)
    requestedRuns.add(1, ordering: .relaxed)
    host {  // the host calls this closure on its thread
      let core = MainCore.shared, hasLaterRun = core.requestedRuns.subtract(1, ordering: .relaxed).newValue > 0
      let hasMore = core.inHost { loop in  // without a marker: at most 64 jobs; 64 means that more may wait
        isMarked ? csched_loop_run_through_(loop, mark.job, hasLaterRun) : csched_loop_run_ready(loop, 64) == 64
      }
      if !hasMore { MainCore.endIfClosed() } else if !isMarked { core.submitted() }
    }
  }

  /// Runs the delayed work that is due. The host calls this at the deadline of the next timer. Requests another run if work remains.
  func runDue() {
    let hasMore = inHost { loop in
      let hasMore = csched_loop_run_through_(loop, nil, false)
      _ = csched_loop_run_until(loop, 0)  // consumes a pending stop request; it must not end a later run
      return hasMore
    }
    if hasMore { submitted() }  // C code and queues on the loop submit without requesting a run
  }

  /// Calls `body` with the loop attached to the host's main thread, which is the caller.
  func inHost<Result>(_ body: (OpaquePointer) -> Result) -> Result {
    csched_loop_attach(loop)
    defer { if !csched_is_main_thread() { csched_loop_detach(loop) } }
    return body(loop)
  }
}

/// A marker: a job that does nothing, submitted behind an action. The host's closure retains it, because the closure compares its address later.
private final class HostMark: @unchecked Sendable {
  // Unchecked, because of the pointer. Only the C core changes the job.
  private let storage = JobStorage()
  var job: UnsafeMutablePointer<csched_job> { storage.job }

  init() { csched_job_init(job, markType.pointer, Unmanaged.passUnretained(self).toOpaque()) }

  /// Returns whether `target` accepted the marker.
  func submit(to target: UnsafeMutablePointer<csched_target>) -> Bool {
    Counted.jobs(1)
    _ = Unmanaged.passRetained(self)  // balanced in the job's `release`
    return csched_target_submit(target, job) == 0
  }
}

private let markType = JobType(
  csched_job_type(
    run: { _ in }, drop: { _ in },
    release: {
      Counted.jobs(-1)
      Unmanaged<HostMark>.fromOpaque($0!.pointee.context).release()
    }))
