import CScheduler
import Dispatch
import TestSupport
import Testing

@Suite(.nothingIsLeft) struct DispatchHostTests {
  @Test("Dispatch drives a loop: every job in order, timers, then silence") func dispatch() {
    let jobs = Scale.count(100_000)
    let host = DispatchHost(jobs: jobs)
    #expect(host.runAll() == jobs)
    #expect(host.inOrder)
    #expect(eventually { host.roundsWhileIdle(milliseconds: 50) == 0 })  // the last submission's wake may come late
    #expect(host.roundsWhileIdle(milliseconds: 200) == 0)
    #expect(host.stops())
  }
}

/// A loop that a serial queue drives, whatever thread that is on. Unchecked: what is not atomic belongs to the queue.
private final class DispatchHost: @unchecked Sendable {
  private let queue = DispatchQueue(label: "host")
  private let done = DispatchSemaphore(value: 0), stopped = DispatchSemaphore(value: 0)
  private var loop: OpaquePointer?
  private var source: (any DispatchSourceRead)?
  private let jobs: UnsafeMutablePointer<csched_job>, timer: UnsafeMutablePointer<csched_timer>
  private let type: UnsafeMutablePointer<csched_job_type>
  private let count: Int
  private var ran = 0, timers = 0, rounds = 0
  private(set) var inOrder = true

  init(jobs count: Int) {
    self.count = count
    jobs = .allocate(capacity: count)
    timer = .allocate(capacity: 1)
    type = .allocate(capacity: 1)
    type.initialize(
      to: csched_job_type(
        run: { job in Unmanaged<DispatchHost>.fromOpaque(job!.pointee.context).takeUnretainedValue().run(job!) },
        drop: { _ in }, release: nil))
  }

  deinit {
    jobs.deallocate()
    timer.deallocate()
    type.deallocate()
  }

  private func run(_ job: UnsafeMutablePointer<csched_job>) {
    if UInt(bitPattern: job) == UInt(bitPattern: timer) {
      timers += 1
      inOrder = inOrder && csched_now() >= timer.pointee.deadline
    } else {
      inOrder = inOrder && job == jobs + ran
      ran += 1
    }
    if ran == count && timers == 1 { done.signal() }
  }

  private func ready() {
    rounds += 1
    csched_loop_attach(loop)
    csched_loop_run_ready(loop, 256)
    let isStopped = csched_loop_run_until(loop, 0) == CSCHED_RUN_ENDED
    csched_loop_detach(loop)
    if isStopped { source?.cancel() }
  }

  /// Submits everything from this thread. Returns how many jobs have run.
  func runAll() -> Int {
    let context = Unmanaged.passUnretained(self).toOpaque()
    queue.sync {
      csched_loop_create(&loop)
      var descriptor: Int32 = -1
      #expect(csched_loop_fd(loop, &descriptor) == 0)
      let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
      csched_loop_detach(loop)
      source.setEventHandler { [unowned self] in ready() }
      source.setCancelHandler { [self] in
        csched_loop_attach(loop)
        csched_loop_destroy(loop)
        stopped.signal()
      }
      self.source = source
      source.resume()
    }
    csched_timer_init(timer, type, context)
    csched_target_submit_at(csched_loop_target(loop), timer, csched_time_after(csched_now(), 5_000_000), 0)
    for i in 0..<count {
      csched_job_init(jobs + i, type, context)
      csched_target_submit(csched_loop_target(loop), jobs + i)
    }
    guard done.wait(timeout: .now() + 60) == .success else { return -1 }
    return queue.sync { ran }
  }

  func roundsWhileIdle(milliseconds: Int64) -> Int {
    let before = queue.sync { rounds }
    _ = DispatchSemaphore(value: 0).wait(timeout: .now() + .milliseconds(Int(milliseconds)))
    return queue.sync { rounds } - before
  }

  func stops() -> Bool {
    csched_loop_end_run(loop)
    return stopped.wait(timeout: .now() + 10) == .success
  }
}
