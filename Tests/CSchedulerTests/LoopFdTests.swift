import CScheduler
import CTests
import Dispatch
import TestSupport
import Testing

extension CoreTests {
  @Suite struct LoopFdTests {
    @Test("a source is told that it can be read, and written") func ready() {
      #expect(failure(of: ctest_fd_ready()) == nil)
    }

    @Test("a level is told again, an edge once") func levelAndEdge() {
      #expect(failure(of: ctest_fd_level_and_edge()) == nil)
    }

    @Test("a source removed in a handler is not called again") func removed() {
      #expect(failure(of: ctest_fd_removed()) == nil)
    }

    @Test("a descriptor's number used again brings no stale event") func numberUsedAgain() {
      #expect(failure(of: ctest_fd_number_used_again()) == nil)
    }

    @Test("what the copy of an old descriptor reports is nobody's") func copyIsNobodys() {
      #expect(failure(of: ctest_fd_copy_is_nobodys()) == nil)
    }

    @Test("what cannot be waited for is refused") func errors() {
      #expect(failure(of: ctest_fd_errors()) == nil)
    }

    @Test("what one run has found ready, the next or a nested one is told") func nested() {
      #expect(failure(of: ctest_fd_nested()) == nil)
    }

    @Test("a thousand sources") func many() {
      let seed = freshSeed("a thousand sources")
      #expect(failure(of: ctest_fd_many(1_000, seed)) == nil)
    }

    @Test("a thread that ends in a handler has removed its sources") func threadExits() {
      #expect(failure(of: ctest_fd_thread_exits_inside()) == nil)
    }

    @Test("jobs, timers and sources do not starve each other") func fair() {
      #expect(failure(of: ctest_fd_fair(100)) == nil)
    }

    @Test("a loop with sources does not wake up while idle") func idle() {
      #expect(failure(of: ctest_fd_idle(300)) == nil)
    }

    @Test("a submission wakes a loop that sleeps on its poller") func wakes() {
      let seed = freshSeed("a submission wakes a loop that sleeps on its poller")
      #expect(failure(of: ctest_fd_wakes(Scale.count(20_000), seed)) == nil)
    }

    @Test("timers of a loop with sources are never early") func timers() {
      let seed = freshSeed("timers of a loop with sources are never early")
      #expect(failure(of: ctest_fd_timers(Scale.count(1_000), seed)) == nil)
    }

    @Test("a source added from another thread stops the process") func addOnOtherThread() async {
      let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        ctest_die_add_fd_on_other_thread()
      }
      expectMessage(result, "csched_loop_add_fd:", "belongs to another thread")
    }
  }

  @Suite struct LoopHostTests {
    @Test("a loop in a host is readable when there is something to do, and not otherwise") func readable() {
      #expect(failure(of: ctest_host_readable()) == nil)
    }

    @Test("a host hears of sources, too") func sources() {
      #expect(failure(of: ctest_host_of_sources()) == nil)
    }

    @Test("a host that polls the loop misses nothing", arguments: [Int32(1), 3])
    func missesNothing(submitters: Int32) {
      let seed = freshSeed("a host that polls the loop misses nothing")
      #expect(failure(of: ctest_host_misses_nothing(submitters, Scale.count(30_000), seed)) == nil)
    }

    @Test("timers of a loop in a host are never early") func timers() {
      let seed = freshSeed("timers of a loop in a host are never early")
      #expect(failure(of: ctest_host_timers(Scale.count(1_000), seed)) == nil)
    }

    @Test("a host does not wake up while the loop is idle") func idle() {
      #expect(failure(of: ctest_host_idle(300)) == nil)
    }

    @Test("without descriptors there is no host, and the loop is what it was") func withoutDescriptors() {
      #expect(failure(of: ctest_host_without_descriptors()) == nil)
    }

    @Test("work runs at once beside a loop only when nothing waits or runs there") func free() {
      #expect(failure(of: ctest_loop_free()) == nil)
    }

    @Test("what was cancelled keeps nothing from running at once, and what is due keeps its place") func freeCancelled()
    {
      #expect(failure(of: ctest_loop_free_cancelled()) == nil)
    }

    @Test("a run goes as far as a job, and no further") func runThrough() {
      #expect(failure(of: ctest_loop_run_through()) == nil)
    }

    @Test("a loop goes on elsewhere while its thread ends") func takenOver() {
      #expect(failure(of: ctest_loop_taken_over()) == nil)
    }

    @Test("a run until done ends when nothing but background work is left") func untilDone() {
      #expect(failure(of: ctest_loop_until_done()) == nil)
    }

    @Test("a loop counts what it runs, its sleeps and its idle time") func statistics() {
      #expect(failure(of: ctest_loop_statistics()) == nil)
    }

    @Test("hooks are called before each sleep and after each wake, in a host, too") func hooks() {
      #expect(failure(of: ctest_loop_hooks()) == nil)
      #expect(failure(of: ctest_loop_hooks_in_host()) == nil)
    }

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
