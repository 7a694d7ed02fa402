internal import CScheduler
internal import Synchronization

/// The core of the main thread's schedulers: one loop for all of them, which the main loop of another library may host.
final class MainCore: TargetCore, @unchecked Sendable {
  // Unchecked, as its superclass is.
  static let shared = MainCore()
  let loop: OpaquePointer
  private let host = Protected<Host?>(nil)
  private let hasHost = Atomic(false)
  /// How many runs the host has been asked for, and has not come to.
  private let asked = Atomic(0)

  private init() {
    guard let loop = csched_main_loop() else { misuse("MainScheduler.instance", "no memory for its loop") }
    self.loop = loop
    super.init(csched_loop_target(loop), isOnMain: true)
    atEndOfProcess { MainCore.shared.reportUnrun() }
  }

  /// At the end of the process, on the thread that ends it: reports the actions that no run of the main loop has come to.
  ///
  /// They are counted, and stay: to release what they hold would run code of the program's at its end.
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
    _ = MainScheduler.instance  // which a handler is given
    for _ in 0..<(DropObservers.areThere ? queued + delayed : 0) { DropObservers.tell(self, .stopped) }
  }

  override var isExclusive: Bool { true }

  override var isolatesHere: Bool { Self.isHere || csched_target_is_inside(target) }

  override func makeScheduler() -> any ImmediateSchedulerType & AnyObject { MainScheduler.instance }

  /// Whether the caller is on the main thread, or on the one that has taken its place in a host.
  static var isHere: Bool { csched_is_main_thread() || csched_loop_is_on_thread(shared.loop) }

  /// Whether the caller is there, and nothing waits or runs there.
  static var isFree: Bool {
    let loop = shared.loop
    // The first call on the main thread gives it the loop.
    if !csched_loop_is_on_thread(loop), csched_is_main_thread() { _ = csched_main_loop() }
    return csched_loop_is_free_(loop)
  }

  /// Makes sure that the loop knows its thread, which must be the main one.
  func requireMain(_ function: String) {
    if !Self.isHere {
      misuse(
        "MainScheduler.\(function)",
        "called on another thread. Only the main thread runs the main scheduler: call it there. (An async main may leave it at each await: link SchedulerExecutorsLinked, and it stays.)"
      )
    }
    if !csched_loop_is_on_thread(loop) { csched_loop_attach(loop) }
  }

  /// Follows a run on the main thread that has done all: where the loop is closed, nothing runs there any more.
  @inline(__always)
  static func endIfClosed() {
    let target = shared.target
    if target.pointee.type.pointee.is_closed(target) { shared.endExclusion() }
  }

  // MARK: hosts

  /// Has the main thread of another library call `work`, after what the same thread has given it before.
  typealias Host = @Sendable (_ work: @escaping @Sendable () -> Void) -> Void

  /// Gives the loop to `host`, unless it has one, or runs the whole program; tells whether it did.
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
    submitted()  // before there was a host
    return true
  }

  /// Has the host, if there is one, run what has been submitted so far.
  ///
  /// Each submission asks for a run of its own, that goes as far as a mark behind it. The host's queue keeps the runs in order, so
  /// between two of them there may be other work of the host's, and nothing overtakes that or is overtaken by it. A loop that has been closed
  /// takes no mark; what it took before may be without one, so all that is ready runs.
  func submitted() {
    guard hasHost.load(ordering: .acquiring), csched_main_loop_is_hosted_(), let host = host.read() else { return }
    let mark = HostMark(), isMarked = mark.submit(to: target)
    asked.add(1, ordering: .relaxed)
    host {
      let core = MainCore.shared, isPromised = core.asked.subtract(1, ordering: .relaxed).newValue > 0
      let hasMore = core.inHost { loop in
        isMarked ? csched_loop_run_through_(loop, mark.job, isPromised) : csched_loop_run_ready(loop, 64) == 64
      }
      if !hasMore { MainCore.endIfClosed() } else if !isMarked { core.submitted() }
    }
  }

  /// Runs what is due, and leaves the rest to runs of its own.
  func runDue() {
    let hasMore = inHost { loop in
      let hasMore = csched_loop_run_through_(loop, nil, false)
      _ = csched_loop_run_until(loop, 0)  // takes a stop that was meant for nobody here
      return hasMore
    }
    if hasMore { submitted() }  // by one that did not ask for a run: in C, or through a queue on the loop
  }

  /// Calls `body` with the loop, on whichever thread is the main one in the host.
  func inHost<Result>(_ body: (OpaquePointer) -> Result) -> Result {
    csched_loop_attach(loop)
    defer { if !csched_is_main_thread() { csched_loop_detach(loop) } }
    return body(loop)
  }
}

/// A job without work. It marks what has been submitted before it; its memory is its own, because the host looks whether it has run.
private final class HostMark: @unchecked Sendable {
  // Unchecked, because of the pointer: only the core changes the job.
  private let storage = JobStorage()
  var job: UnsafeMutablePointer<csched_job> { storage.job }

  init() { csched_job_init(job, markType.pointer, Unmanaged.passUnretained(self).toOpaque()) }

  /// Returns whether it was accepted.
  func submit(to target: UnsafeMutablePointer<csched_target>) -> Bool {
    Counted.jobs(1)
    _ = Unmanaged.passRetained(self)  // given back by the release
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
