import CScheduler
import CTests
import TestSupport
import Testing

extension CoreTests {
  @Suite struct WaitingTests {
    @Test("a condition loses no wake", arguments: [(Int32(1), false), (4, false), (1, true), (4, true)])
    func condition(pairs: Int32, isTimed: Bool) {
      let seed = freshSeed("a condition loses no wake")
      #expect(failure(of: ctest_cond_loses_no_wake(pairs, Scale.count(3_000), isTimed, seed)) == nil)
    }

    @Test("a condition loses no wake on one processor") func conditionOnOneProcessor() {
      let seed = freshSeed("a condition loses no wake on one processor")
      #expect(failure(of: ctest_cond_on_one_processor(3, Scale.count(2_000), seed)) == nil)
    }

    @Test("a signal wakes one, in the order of arrival") func signalWakesOne() {
      #expect(failure(of: ctest_cond_signal_wakes_one(16)) == nil)
    }

    @Test("a broadcast wakes all that wait, one by one") func broadcastWakesAll() {
      #expect(failure(of: ctest_cond_broadcast_wakes_all(16)) == nil)
      #expect(failure(of: ctest_cond_signal_after_broadcast(8)) == nil)
    }

    @Test("a timed wait for a condition gives up and leaves nothing behind") func timedCondition() {
      #expect(failure(of: ctest_cond_timed()) == nil)
    }

    @Test("a condition may be freed by who was woken") func conditionFreed() {
      #expect(failure(of: ctest_cond_freed_by_woken(Scale.count(500))) == nil)
    }

    @Test("a recursive lock excludes all but its owner", arguments: [Int32(1), 2, 8])
    func recursiveLock(threads: Int32) {
      #expect(failure(of: ctest_rlock_nests(threads, Scale.count(10_000))) == nil)
    }

    @Test("a semaphore's units are taken once each", arguments: [(Int32(2), Int32(1)), (8, 1), (8, 3)])
    func units(threads: Int32, units: Int32) {
      let seed = freshSeed("a semaphore's units are taken once each")
      #expect(failure(of: ctest_semaphore_shares(threads, units, Scale.count(2_000), false, seed)) == nil)
    }

    @Test("a semaphore's units are taken once each, on one processor") func unitsOnOneProcessor() {
      let seed = freshSeed("a semaphore's units are taken once each, on one processor")
      #expect(failure(of: ctest_semaphore_on_one_processor(4, Scale.count(2_000), seed)) == nil)
    }

    @Test("a semaphore serves in the order of arrival") func semaphoreOrder() {
      #expect(failure(of: ctest_semaphore_order(16)) == nil)
    }

    @Test("a timed wait for a semaphore gives up and loses no unit") func timedSemaphore() {
      let seed = freshSeed("a timed wait for a semaphore gives up and loses no unit")
      #expect(failure(of: ctest_semaphore_timed()) == nil)
      #expect(failure(of: ctest_semaphore_shares(8, 1, Scale.count(2_000), true, seed)) == nil)
      #expect(failure(of: ctest_semaphore_shares(8, 3, Scale.count(2_000), true, seed)) == nil)
    }

    @Test("a semaphore may be freed by who gets the last unit") func semaphoreFreed() {
      #expect(failure(of: ctest_semaphore_freed_by_taker(Scale.count(1_000))) == nil)
    }

    @Test("a signal handler does not end the wait for a semaphore") func interrupted() {
      #expect(failure(of: ctest_semaphore_interrupted(200)) == nil)
    }

    @Test("a latch opens once, and all pass") func latch() {
      #expect(failure(of: ctest_latch_opens(4, 4, Scale.count(100))) == nil)
      #expect(failure(of: ctest_latch_opens(1, 8, Scale.count(100))) == nil)
    }

    @Test("a timed wait for a latch gives up") func timedLatch() {
      #expect(failure(of: ctest_latch_timed()) == nil)
    }

    @Test("a latch may be freed by the first to pass") func latchFreed() {
      #expect(failure(of: ctest_latch_freed_by_passer(Scale.count(1_000))) == nil)
    }

    @Test("workers that wait leave their places to others") func onWorkers() {
      #expect(failure(of: ctest_waits_on_workers()) == nil)
    }

    @Test("after fork nobody waits, and units and counts are there") func fork() {
      #expect(failure(of: ctest_fork_waits()) == nil)
    }

    @Test("zero is a condition, a lock, a semaphore and a latch of their sizes") func sizes() {
      #expect(MemoryLayout<csched_cond>.size == 8 && MemoryLayout<csched_rlock>.size == 8)
      #expect(MemoryLayout<csched_semaphore>.size == 4 && MemoryLayout<csched_latch>.size == 4)
    }

    @Test("a wait without the lock stops the process") func withoutLock() async {
      let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        ctest_die_of_wait(CTEST_WAIT_WITHOUT_LOCK)
      }
      expectMessage(result, "csched_cond_wait:", "does not own lock", "and then wait with it")
    }

    @Test("a wait with another lock stops the process") func withOtherLock() async {
      let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        ctest_die_of_wait(CTEST_WAIT_WITH_OTHER_LOCK)
      }
      expectMessage(result, "csched_cond_wait:", "Use one lock with it")
    }

    @Test("a condition that is destroyed with waiters stops the process") func destroyedCondition() async {
      let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        ctest_die_of_wait(CTEST_DESTROY_COND)
      }
      expectMessage(result, "csched_cond_destroy:", "(waiter) waits for condition", "Destroy it when")
    }

    @Test("a semaphore that is destroyed with waiters stops the process") func destroyedSemaphore() async {
      let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        ctest_die_of_wait(CTEST_DESTROY_SEMAPHORE)
      }
      expectMessage(result, "csched_semaphore_destroy:", "(waiter) waits for semaphore", "Destroy it when")
    }

    @Test("a latch that is destroyed with waiters stops the process") func destroyedLatch() async {
      let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        ctest_die_of_wait(CTEST_DESTROY_LATCH)
      }
      expectMessage(result, "csched_latch_destroy:", "(waiter) waits for latch", "Destroy it when")
    }

    @Test("too many units stop the process") func tooManyUnits() async {
      expectMessage(
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
          ctest_die_of_wait(CTEST_TOO_MANY_UNITS)
        }, "csched_semaphore_signal:", "cannot have 1 more", "Signal once for each wait")
      expectMessage(
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
          ctest_die_of_wait(CTEST_TOO_MANY_UNITS_AT_FIRST)
        }, "csched_semaphore_init:", "cannot have 4294967295 more")
    }

    @Test("a latch that is counted below zero stops the process") func belowZero() async {
      expectMessage(
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
          ctest_die_of_wait(CTEST_BELOW_ZERO)
        }, "csched_latch_count_down:", "has 1 left", "by 2")
      expectMessage(
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
          ctest_die_of_wait(CTEST_TOO_MUCH_TO_COUNT)
        }, "csched_latch_init:", "cannot count 4294967295")
    }

    @Test("a recursive lock that is not the caller's stops the process") func recursiveMisuse() async {
      expectMessage(
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
          ctest_die_of_wait(CTEST_RLOCK_STRANGER)
        }, "csched_rlock_unlock:", "(stranger)", "Unlock on the thread that locked")
      expectMessage(
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
          ctest_die_of_wait(CTEST_RLOCK_ONCE_TOO_OFTEN)
        }, "csched_rlock_unlock:", "nobody does")
      expectMessage(
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
          ctest_die_of_wait(CTEST_RLOCK_NOT_OWNED)
        }, "csched_rlock_assert_owner:", "nobody does")
      expectMessage(
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
          ctest_die_of_wait(CTEST_RLOCK_OWNED)
        }, "csched_rlock_assert_not_owner:", "Call this without holding it")
      expectMessage(
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
          ctest_die_of_wait(CTEST_RLOCK_TOO_DEEP)
        }, "csched_rlock_lock:", "2^32 times", "as often as you lock it")
    }
  }
}
