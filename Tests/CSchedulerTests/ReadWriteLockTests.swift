import CScheduler
import CTests
import TestSupport
import Testing

extension CoreTests {
  @Suite struct ReadWriteLockTests {
    @Test("writers exclude all, readers writers only", arguments: [(Int32(2), false), (8, false), (8, true)])
    func excludes(threads: Int32, isTimed: Bool) {
      let seed = freshSeed("writers exclude all, readers writers only")
      #expect(failure(of: ctest_rwlock_excludes(threads, Scale.count(2_000), isTimed, seed)) == nil)
    }

    @Test("writers exclude all, on one processor") func onOneProcessor() {
      let seed = freshSeed("writers exclude all, on one processor")
      #expect(failure(of: ctest_rwlock_on_one_processor(4, Scale.count(2_000), seed)) == nil)
    }

    @Test("readers read side by side") func sideBySide() {
      #expect(failure(of: ctest_rwlock_side_by_side(16)) == nil)
    }

    @Test("a writer is not starved by readers") func notStarved() {
      #expect(failure(of: ctest_rwlock_writer_not_starved(8, Scale.count(50))) == nil)
    }

    @Test("a timed wait for a read-write lock gives up and leaves nothing behind") func timed() {
      #expect(failure(of: ctest_rwlock_timed()) == nil)
    }

    @Test("a read-write lock may be freed by the last writer") func freed() {
      #expect(failure(of: ctest_rwlock_freed_by_writer(Scale.count(500))) == nil)
    }

    @Test("after fork a read-write lock is as it was") func fork() {
      #expect(failure(of: ctest_fork_rwlock()) == nil)
      #expect(MemoryLayout<csched_rwlock>.size == 8)
    }

    @Test("misuse of a read-write lock stops the process") func misuse() async {
      expectMessage(
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
          ctest_die_of_rwlock(CTEST_RWLOCK_WRITE_TWICE)
        }, "csched_rwlock_lock_write:", "for writing already")
      expectMessage(
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
          ctest_die_of_rwlock(CTEST_RWLOCK_WRITE_TWICE_TIMED)
        }, "csched_rwlock_lock_write_until:", "for writing already")
      expectMessage(
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
          ctest_die_of_rwlock(CTEST_RWLOCK_READ_WRITTEN)
        }, "csched_rwlock_lock_read:", "for writing already")
      expectMessage(
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
          ctest_die_of_rwlock(CTEST_RWLOCK_WRITE_READ)
        }, "csched_rwlock_lock_write:", "would wait for itself")
      expectMessage(
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
          ctest_die_of_rwlock(CTEST_RWLOCK_READ_AGAIN)
        }, "csched_rwlock_lock_read:", "would wait for itself")
      expectMessage(
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
          ctest_die_of_rwlock(CTEST_RWLOCK_UNLOCK_UNREAD)
        }, "csched_rwlock_unlock_read:", "nobody reads", "Unlock once for each lock")
      expectMessage(
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
          ctest_die_of_rwlock(CTEST_RWLOCK_UNLOCK_READ_OF_WRITER)
        }, "csched_rwlock_unlock_read:", "which a thread has for writing")
      expectMessage(
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
          ctest_die_of_rwlock(CTEST_RWLOCK_UNLOCK_UNWRITTEN)
        }, "csched_rwlock_unlock_write:", "nobody does")
      expectMessage(
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
          ctest_die_of_rwlock(CTEST_RWLOCK_STRANGER)
        }, "csched_rwlock_unlock_write:", "(stranger)", "Unlock on the thread that locked")
      expectMessage(
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
          ctest_die_of_rwlock(CTEST_RWLOCK_NOT_WRITER)
        }, "csched_rwlock_assert_writer:", "nobody does")
      expectMessage(
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
          ctest_die_of_rwlock(CTEST_RWLOCK_TOO_MANY)
        }, "csched_rwlock_lock_read:", "2^31 readers")
      expectMessage(
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
          ctest_die_of_rwlock(CTEST_RWLOCK_DESTROY_READ)
        }, "csched_rwlock_destroy:", "1 read")
      expectMessage(
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
          ctest_die_of_rwlock(CTEST_RWLOCK_DESTROY_WRITTEN)
        }, "csched_rwlock_destroy:", "0 read", "Destroy it when")
    }
  }
}
