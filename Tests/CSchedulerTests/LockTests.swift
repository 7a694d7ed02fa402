import CScheduler
import CTests
import TestSupport
import Testing

extension CoreTests {
  @Suite struct LockTests {
    @Test("the lock excludes", arguments: [(2, 200_000), (8, 50_000), (64, 5_000)])
    func excludes(threads: Int32, rounds: Int32) {
      #expect(failure(of: ctest_lock_excludes(threads, Scale.count(rounds), 0)) == nil)
      #expect(failure(of: ctest_lock_excludes(threads, Scale.count(rounds / 2), 50)) == nil)
    }

    @Test("the lock excludes on one processor", arguments: [Int32(2), 16])
    func excludesOnOneProcessor(threads: Int32) {
      #expect(failure(of: ctest_lock_excludes_on_one_processor(threads, Scale.count(20_000))) == nil)
    }

    @Test("a trylock takes a free lock only") func trylock() {
      #expect(failure(of: ctest_lock_trylock(4, Scale.count(100_000))) == nil)
    }

    @Test("no wake is lost", arguments: [Int32(1), 3, 8])
    func losesNoWake(waiters: Int32) {
      let seed = freshSeed("no wake is lost")
      #expect(failure(of: ctest_lock_loses_no_wake(waiters, Scale.count(10_000), false, false, seed)) == nil)
    }

    @Test("no wake is lost on one processor") func losesNoWakeOnOneProcessor() {
      let seed = freshSeed("no wake is lost on one processor")
      runOnOneCPU {
        #expect(failure(of: ctest_lock_loses_no_wake(3, Scale.count(2_000), false, false, seed)) == nil)
      }
    }

    @Test("a waiter that gives up passes its wake on", arguments: [Int32(2), 4, 8])
    func losesNoWakeWhenGivingUp(waiters: Int32) {
      let seed = freshSeed("a waiter that gives up passes its wake on")
      #expect(failure(of: ctest_lock_loses_no_wake(waiters, Scale.count(20_000), true, false, seed)) == nil)
    }

    @Test("threads that take turns all come to theirs") func relay() {
      #expect(failure(of: ctest_lock_relay(4, Scale.count(200))) == nil)
    }

    @Test("locks that share a bucket do not take each other's wakes") func sharedBuckets() {
      let seed = freshSeed("locks that share a bucket")
      #expect(failure(of: ctest_lock_shared_buckets(8, 1_000, Scale.count(20_000), seed)) == nil)
      #expect(failure(of: ctest_lock_loses_no_wake(3, Scale.count(2_000), false, true, seed)) == nil)
      #expect(failure(of: ctest_lock_loses_no_wake(4, Scale.count(2_000), true, true, seed)) == nil)
    }

    @Test("a lock may be freed by the owner after the last unlock", arguments: [Int32(2), 4, 8])
    func freedAfterUnlock(threads: Int32) {
      #expect(failure(of: ctest_lock_freed_after_unlock(threads, Scale.count(2_000), false)) == nil)
      #expect(failure(of: ctest_lock_freed_after_unlock(threads, Scale.count(1_000), true)) == nil)
    }

    @Test(
      "a thread that waits long is handed the lock",
      arguments: [(1, 500, 0), (1, 50, 0), (2, 1, 0), (2, 3, 1), (3, 10, 5), (16, 20, 0)])
    func handedOver(bargers: Int32, hold: Int32, outside: Int32) {
      #expect(failure(of: ctest_lock_handed_over(bargers, hold, outside, Scale.count(100), 400)) == nil)
    }

    @Test("a thread that waits long is handed the lock on one processor", arguments: [Int32(1), 4])
    func handedOverOnOneProcessor(bargers: Int32) {
      #expect(failure(of: ctest_lock_handed_over_on_one_processor(bargers, 200, Scale.count(40), 400)) == nil)
    }

    @Test("a waiter that has slept for 2 ms is passed by a thread 128 times at the most") func passed() {
      #expect(failure(of: ctest_lock_passed(Scale.count(200), 128)) == nil)
    }

    @Test("a timed lock gives up and leaves nothing behind") func timed() {
      #expect(failure(of: ctest_lock_timed()) == nil)
      let seed = freshSeed("a timed lock gives up")
      #expect(failure(of: ctest_lock_timed_storm(8, Scale.count(2_000), seed)) == nil)
    }

    @Test("a signal does not end the wait for a lock") func interrupted() {
      #expect(failure(of: ctest_lock_interrupted(200)) == nil)
    }

    @Test("a lock is four bytes, and zero is unlocked") func zero() {
      #expect(MemoryLayout<csched_lock>.size == 4)
      #expect(failure(of: ctest_lock_zero_is_unlocked()) == nil)
    }

    @Test("relock stops the process") func relock() async {
      let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { ctest_die_relock() }
      expectMessage(result, "csched_lock_lock:", "(greedy)", "not recursive")
    }

    @Test("a timed relock stops the process") func relockTimed() async {
      let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        ctest_die_relock_timed()
      }
      expectMessage(result, "csched_lock_lock_until:", "(greedy)", "not recursive")
    }

    @Test("a stranger's unlock stops the process") func strangersUnlock() async {
      let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        ctest_die_unlock_by_stranger()
      }
      expectMessage(result, "csched_lock_unlock:", "(stranger)", "(owner)", "Unlock on the thread that locked")
    }

    @Test("the unlock of an unlocked lock stops the process") func unlockOfUnlocked() async {
      let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        ctest_die_unlock_of_unlocked()
      }
      expectMessage(result, "csched_lock_unlock:", "(absentminded)", "nobody does")
    }

    @Test("assert_owner stops the process for a stranger") func assertOwner() async {
      let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        ctest_die_assert_owner()
      }
      expectMessage(result, "csched_lock_assert_owner:", "(stranger)", "(owner)")
    }

    @Test("assert_not_owner stops the process for the owner") func assertNotOwner() async {
      let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        ctest_die_assert_not_owner()
      }
      expectMessage(result, "csched_lock_assert_not_owner:", "(greedy)")
    }
  }
}
