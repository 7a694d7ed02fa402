import CTests
import TestSupport
import Testing

/// What the surroundings may do to a process: the laws hold, or a message says why not.
extension CoreTests {
  // ThreadSanitizer has no threads in a child of a process with threads.
  @Suite(.enabled(if: Scale.sanitizer != .thread)) struct EnvironmentTests {
    @Test("a lock whose owner has ended stops who waits for it") func ownerEnded() {
      #expect(failure(of: ctest_env_owner_ended()) == nil)
    }

    @Test("a lock whose owner takes seconds stops nobody") func ownerIsSlow() {
      #expect(failure(of: ctest_env_owner_is_slow()) == nil)
    }

    @Test("a thread that is kept to one processor does not decide for all whether to spin") func processors() {
      #expect(failure(of: ctest_env_processors()) == nil)
    }

    @Test(
      "the least stack does for jobs, locks, timers, descriptors and a message", .enabled(if: Scale.sanitizer == .none))
    func leastStack() {
      #expect(failure(of: ctest_env_least_stack()) == nil)
    }

    @Test("a loop whose descriptors are closed or replaced by others says so") func strayDescriptors() {
      #expect(failure(of: ctest_env_stray_descriptors()) == nil)
    }

    @Test("a fork without descriptors to spare leaves a child that can exec, and a loop that says what it lacks")
    func forkWhenFull() {
      #expect(failure(of: ctest_env_fork_when_full()) == nil)
    }

    @Test("a pool made as root keeps its nice values when root is given up") func rootGivenUp() {
      #expect(failure(of: ctest_env_root_given_up()) == nil)
    }

    @Test("a lock in a signal handler that has interrupted its owner is told of handlers") func locksInHandler() {
      #expect(failure(of: ctest_env_locks_in_handler()) == nil)
    }

    @Test("threads that keep time block signals, those with jobs have their starter's mask") func signalMasks() {
      #expect(failure(of: ctest_env_signal_masks()) == nil)
    }
  }

  @Suite struct SignalHandlerTests {
    @Test("a signal handler may submit to loops and threads", arguments: [false, true])
    func submits(onPoller: Bool) {
      #expect(failure(of: ctest_env_submits_in_handler(onPoller, 400)) == nil)
    }
  }
}
