import CTestAllocations
import CTests
import TestSupport
import Testing

/// Forks, threads that end in a job, cancellation, signals, no memory: the laws hold all the same.
extension CoreTests {
  // ThreadSanitizer has no threads in a child of a process with threads.
  @Suite(.enabled(if: Scale.sanitizer != .thread)) struct ForkTests {
    @Test("after fork a lock keeps its owner") func keepsOwner() {
      #expect(failure(of: ctest_fork_keeps_owner()) == nil)
    }

    @Test("after fork a lock of an orphaned thread stops the process") func lockOfAnother() {
      #expect(failure(of: ctest_fork_lock_of_another()) == nil)
    }

    @Test("after fork the thread's own loops go on", arguments: [false, true]) func ownLoop(hasSource: Bool) {
      #expect(failure(of: ctest_fork_own_loop(hasSource)) == nil)
    }

    @Test("after fork the thread that forked is the main one, and has the main loop") func mainLoop() {
      #expect(failure(of: ctest_fork_main_loop()) == nil)
    }

    @Test("after fork threads, pools and queues can be made anew") func madeAnew() {
      #expect(failure(of: ctest_fork_made_anew()) == nil)
    }

    @Test("after fork other clocks are told anew") func clocks() { #expect(failure(of: ctest_fork_clocks()) == nil) }

    @Test("after fork a queue goes on that a thread of the parent was about to wake") func onTheWay() {
      #expect(failure(of: ctest_fork_on_the_way()) == nil)
    }

    @Test("a fork beside threads that sleep for locks leaves locks that can be let go") func sleepers() {
      #expect(failure(of: ctest_fork_sleepers()) == nil)
    }

    @Test("forks in the middle of others' work leave a child that works") func storm() {
      #expect(failure(of: ctest_fork_storm(Scale.count(100))) == nil)
    }

    @Test("after fork a thread of the parent stops the process") func threadIsOrphaned() {
      #expect(failure(of: ctest_fork_thread_is_orphaned()) == nil)
    }

    @Test("after fork a pool of the parent stops the process") func poolIsOrphaned() {
      #expect(failure(of: ctest_fork_pool_is_orphaned()) == nil)
    }

    @Test("after fork a queue of the parent stops the process", arguments: [false, true])
    func queueIsOrphaned(isBusy: Bool) {
      #expect(failure(of: ctest_fork_queue_is_orphaned(isBusy)) == nil)
    }

    @Test("after fork a wait for a job of the parent stops the process") func jobIsOrphaned() {
      #expect(failure(of: ctest_fork_job_is_orphaned()) == nil)
    }

    @Test("after fork what is the parent's can be given up") func givesUp() {
      #expect(failure(of: ctest_fork_gives_up()) == nil)
    }

    @Test("a worker's job that forks cannot return in the child", arguments: [false, true])
    func workerReturns(onQueue: Bool) {
      #expect(failure(of: ctest_fork_worker_returns(onQueue)) == nil)
    }

    @Test("a thread's job that forks returns in the child, where the thread goes on") func threadGoesOn() {
      #expect(failure(of: ctest_fork_thread_goes_on()) == nil)
    }
  }

  @Suite struct ThreadEndTests {
    @Test("a job that ends its thread has ended") func waitedFor() {
      #expect(failure(of: ctest_end_waited_for(Scale.count(20))) == nil)
      #expect(failure(of: ctest_end_nested()) == nil)
      #expect(failure(of: ctest_end_on_trampoline()) == nil)
      #expect(failure(of: ctest_end_in_fork()) == nil)
    }

    @Test("a job that ends its thread on a loop has ended") func onLoop() {
      #expect(failure(of: ctest_end_on_loop()) == nil)
    }

    @Test("a serial queue goes on when a job ends its thread") func queueGoesOn() {
      #expect(failure(of: ctest_end_queue_goes_on(Scale.count(50))) == nil)
    }

    @Test("a forked job that ends its thread is waited for no longer") func forked() {
      #expect(failure(of: ctest_end_forked(Scale.count(50))) == nil)
    }

    @Test("jobs inside of each other know where they run, at any depth") func manyLevels() {
      #expect(failure(of: ctest_job_many_levels()) == nil)
    }
  }

  @Suite struct CancellationTests {
    @Test("a wait is no point of cancellation: the thread goes on to one of its own") func inWaits() {
      #expect(failure(of: ctest_cancel_in_waits()) == nil)
    }

    // The frames of a cancelled thread are not left in the usual way: AddressSanitizer takes what they have marked on the stack for what
    // is there, in whatever is called next.
    @Test(
      "a job whose thread is cancelled inside of it has ended, and what waits is dropped",
      .enabled(if: ctest_sanitizer() != CTEST_ADDRESS_SANITIZER))
    func inJobs() {
      #expect(failure(of: ctest_cancel_in_jobs()) == nil)
    }
  }

  @Suite struct SignalTests {
    @Test("in a storm of signals nothing is early, and nothing is lost") func storm() {
      #expect(failure(of: ctest_signal_storm(Scale.count(200))) == nil)
    }
  }

  @Suite struct MemoryTests {
    @Test(
      "whichever allocation fails, what creates says so and leaves nothing behind",
      .enabled(if: ctest_counts_allocations()))
    func creations() {
      #expect(failure(of: ctest_memory_creations(ctest_fail_allocation, ctest_allocations_left)) == nil)
    }

    @Test("without memory a loop is run by its caller", .enabled(if: ctest_counts_allocations()))
    func applyAlone() { #expect(failure(of: ctest_apply_without_memory(ctest_fail_allocation)) == nil) }

    @Test(
      "without threads to be had, what starts one says so, and a later attempt succeeds",
      .enabled(if: Scale.sanitizer != .thread))
    func noThreads() {
      #expect(failure(of: ctest_memory_no_threads()) == nil)
    }

    @Test(
      "a pool comes back when there are threads again",
      .enabled(if: Scale.sanitizer != .thread))
    func comesBack() {
      #expect(failure(of: ctest_memory_pool_comes_back()) == nil)
    }
  }
}
