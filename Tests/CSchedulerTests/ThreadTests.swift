import CTests
import TestSupport
import Testing

extension CoreTests {
  @Suite struct ThreadTests {
    @Test("start returns a thread that is ready") func ready() {
      #expect(failure(of: ctest_thread_ready(Scale.count(50))) == nil)
    }

    @Test(
      "a thread's name is cut at 15 bytes, never inside a character",
      arguments: [
        ("", nil), ("short", "short"), ("exactly-fifteen", "exactly-fifteen"), ("sixteen-bytes-xx", "sixteen-bytes-x"),
        ("fourteen-bytesé", "fourteen-bytes"), ("thirteen-byteé", "thirteen-byteé"), ("twelve-bytes👻", "twelve-bytes"),
        ("fourteen-bytes👻", "fourteen-bytes"), (String(repeating: "x", count: 4_096), "xxxxxxxxxxxxxxx"),
      ] as [(String, String?)])
    func named(name: String, shown: String?) {
      let result =
        if let shown { ctest_thread_named(name, shown) } else { ctest_thread_named(name, nil) }
      #expect(failure(of: result) == nil)
    }

    @Test(
      "a stack size beyond all memory is an error, and leaves nothing behind", .enabled(if: Scale.sanitizer == .none))
    func absurdStacks() {
      #expect(failure(of: ctest_thread_absurd_stacks()) == nil)
    }

    @Test("a thread ends by stop from outside, from inside, twice") func ends() {
      #expect(failure(of: ctest_thread_ends()) == nil)
    }

    @Test("several may stop and join at once") func stopRaces() {
      #expect(failure(of: ctest_thread_stop_races(4, Scale.count(300))) == nil)
    }

    @Test("a loop's stop does not end its thread") func loopStop() {
      #expect(failure(of: ctest_thread_loop_stop_ends_nothing()) == nil)
    }

    @Test(
      "a thread keeps to its processors and its priority, or is refused", .enabled(if: Scale.sanitizer != .thread))
    func policies() {
      #expect(failure(of: ctest_thread_policies()) == nil)
    }

    @Test("a thousand starts leave no thread behind") func restarts() {
      #expect(failure(of: ctest_thread_restarts(1_000)) == nil)
      #expect(failure(of: ctest_thread_destroyed_unjoined(Scale.count(300))) == nil)
    }

    @Test("join may be called by several threads") func joinedByMany() {
      #expect(failure(of: ctest_thread_joined_by_many(8)) == nil)
      #expect(failure(of: ctest_thread_joined_again(8)) == nil)
    }

    @Test("a join on itself is refused") func joinItself() {
      #expect(failure(of: ctest_thread_join_itself()) == nil)
    }

    @Test("a thread that destroys itself frees itself") func destroysItself() {
      #expect(failure(of: ctest_thread_destroys_itself(Scale.count(100))) == nil)
    }

    @Test("pthread_exit inside a job ends the thread cleanly") func exitsInside() {
      #expect(failure(of: ctest_thread_exits_inside()) == nil)
    }

    @Test("signals do not end a loop's sleep") func interrupted() {
      #expect(failure(of: ctest_thread_interrupted(1_000)) == nil)
    }
  }
}
