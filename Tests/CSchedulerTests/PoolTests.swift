import CScheduler
import CTests
import TestSupport
import Testing

extension CoreTests {
  @Suite struct PoolTests {
    @Test("every job runs once, whoever submits", arguments: [Int32(0), 1, 5])
    func once(workers: Int32) {
      #expect(failure(of: ctest_pool_once(4, Scale.count(10_000), workers)) == nil)
    }

    @Test("a submission wakes a sleeping worker") func wakes() {
      let seed = freshSeed("a submission wakes a sleeping worker")
      #expect(failure(of: ctest_pool_wakes(Scale.count(10_000), seed)) == nil)
    }

    @Test("one processor runs everything") func oneProcessor() {
      #expect(failure(of: ctest_pool_on_one_processor(2_000)) == nil)
      #expect(failure(of: ctest_pool_fib_on_one_processor()) == nil)
    }

    @Test("a batch is taken whole and in order, or not at all") func batch() {
      #expect(failure(of: ctest_pool_batch(Scale.count(200))) == nil)
    }

    @Test("a higher priority runs first") func priorities() {
      #expect(failure(of: ctest_pool_priorities()) == nil)
    }

    @Test("a lower priority is not starved") func aging() {
      #expect(failure(of: ctest_pool_aging()) == nil)
    }

    @Test("a thread that waits for a queue lends it its priority") func lends() {
      #expect(failure(of: ctest_pool_lends(CSCHED_PRIORITY_HIGH, true)) == nil)
      #expect(failure(of: ctest_pool_lends(CSCHED_PRIORITY_DEFAULT, true)) == nil)
      #expect(failure(of: ctest_pool_lends(CSCHED_PRIORITY_LOW, false)) == nil)
    }

    @Test("who waits in another way lends by request") func lendsAtRequest() {
      #expect(failure(of: ctest_pool_lends_at_request(CSCHED_PRIORITY_DEFAULT, true)) == nil)
      #expect(failure(of: ctest_pool_lends_at_request(CSCHED_PRIORITY_LOW, false)) == nil)
    }

    @Test("who sleeps for a lock lifts its owner's nice value") func liftsOwner() {
      #expect(failure(of: ctest_pool_lifts_owner()) == nil)
    }

    @Test("low priorities run at a higher nice value, where that can be undone") func nice() {
      #expect(failure(of: ctest_pool_nice()) == nil)
    }

    @Test("delayed jobs of a pool run, never early") func timers() {
      let seed = freshSeed("delayed jobs of a pool")
      #expect(failure(of: ctest_pool_timers(400, seed)) == nil)
    }

    @Test(
      "a pool's threads are numbered, and their name is cut before the number",
      arguments: [
        ("", nil), ("short", "short-1"), ("exactly-fifteen", "exactly-fifte-1"),
        ("sixteen-bytes-xx", "sixteen-bytes-1"),
        ("twelve-bytesé", "twelve-bytes-1"), (String(repeating: "x", count: 4_096), "xxxxxxxxxxxxx-1"),
      ] as [(String, String?)])
    func named(name: String, shown: String?) {
      let result =
        if let shown { ctest_pool_named(name, shown) } else { ctest_pool_named(name, nil) }
      #expect(failure(of: result) == nil)
    }
  }

  @Suite struct PoolBlockingTests {
    @Test("a worker that says that it blocks is replaced") func saysSo() {
      #expect(failure(of: ctest_pool_says_it_blocks(Scale.count(20))) == nil)
    }

    @Test("blocked workers are found out without a word", arguments: [Int32(1), 2, 4])
    func stall(workers: Int32) {
      let limit: Int32 = Scale.sanitizer == .none ? 15 : 100
      #expect(failure(of: ctest_pool_stall(workers, 5, limit)) == nil)
    }

    @Test(
      "what a worker keeps for its next job runs though the one that it has goes on",
      arguments: (CTEST_SUBMITTER_RETURNS.rawValue...CTEST_SUBMITTER_ENDS_ITS_THREAD.rawValue))
    func keeps(kind: UInt32) {
      #expect(failure(of: ctest_pool_keeps(ctest_pool_submitter(kind), Scale.count(20))) == nil)
    }

    @Test("there are never more threads than the cap") func cap() {
      #expect(failure(of: ctest_pool_cap()) == nil)
    }

    @Test("an idle pool does not wake up") func idle() {
      #expect(failure(of: ctest_pool_idle(300)) == nil)
    }

    @Test("idle workers leave, all but one") func idleExit() {
      let seed = freshSeed("idle workers leave, all but one")
      #expect(failure(of: ctest_pool_idle_exit()) == nil)
      #expect(failure(of: ctest_pool_idle_exit_races(Scale.count(1_000), seed)) == nil)
    }
  }

  @Suite struct PoolEndTests {
    @Test("a pool ends by stop from outside, from inside, twice") func ends() {
      #expect(failure(of: ctest_pool_ends()) == nil)
    }

    @Test(
      "nothing submitted is lost across a pool's stop",
      arguments: [CSCHED_STOP_RUN.rawValue, CSCHED_STOP_DROP.rawValue])
    func stopRaces(policy: UInt32) {
      #expect(failure(of: ctest_pool_stop_races(Scale.count(300), csched_stop_policy(policy))) == nil)
    }

    @Test("pthread_exit inside a job does not cost the pool a worker") func exitsInside() {
      #expect(failure(of: ctest_pool_exits_inside(100)) == nil)
    }

    @Test("a pool that cannot have a thread is an error") func withoutThreads() async {
      #expect(Scale.sanitizer != .none || failure(of: ctest_pool_absurd_stacks()) == nil)
      let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        ctest_exit_pool_without_threads()
      }
      expectMessage(result)
    }

    @Test("a pool whose most threads are too few says so once", arguments: [false, true])
    func says(_ saysSo: Bool) async {
      let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        [saysSo = saysSo as Bool] in ctest_exit_pool_cap(3, saysSo)
      }
      expectMessage(result, "csched_pool:", "(capped) has its 3 threads", "most_threads")
      #expect(messages(of: result).ranges(of: "has its").count == 1)
    }

    @Test("a pool with as many threads as workers was made to be so, and says nothing") func saysNothing() async {
      let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        ctest_exit_pool_cap(2, true)
      }
      #expect(!messages(of: result).contains("capped"))
    }

    private func messages(of result: ExitTest.Result?) -> String {
      result.map { String(decoding: $0.standardErrorContent, as: UTF8.self) } ?? ""
    }

    @Test("join on a pool's own thread is refused") func joinItself() async {
      #expect(failure(of: ctest_pool_ends()) == nil)
      let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        ctest_die_pool_destroyed_inside()
      }
      expectMessage(result, "csched_pool_destroy:", "destroy it elsewhere")
    }
  }

  @Suite struct ForkJoinTests {
    @Test("forked jobs compute what plain calls do") func fib() {
      #expect(failure(of: ctest_pool_fib(16, 4, 0)) == nil)
      #expect(failure(of: ctest_pool_fork_many()) == nil)
    }

    @Test("forks nested in forks do not deadlock", arguments: [Int32(1), 2, 6])
    func nested(workers: Int32) {
      #expect(failure(of: ctest_pool_fib(14, 16, workers)) == nil)
    }

    @Test("a forked job finds a worker though another takes a queued one") func forkBesideQueued() {
      #expect(failure(of: ctest_pool_fork_beside_queued(Scale.count(400))) == nil)
    }

    @Test("a wait sleeps until the thief has done") func waitSleeps() {
      #expect(failure(of: ctest_pool_wait_sleeps()) == nil)
    }
  }
}
