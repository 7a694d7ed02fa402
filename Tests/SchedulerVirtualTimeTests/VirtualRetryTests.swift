import Scheduler
import SchedulerVirtualTime
import TestSupport
import Testing

private struct Failed: Error, Equatable { let attempt: Int }

@Suite(.nothingIsLeft, .enabled(if: VirtualTime.isAvailable)) struct VirtualRetryTests {
  /// Retries at 0, 10, 20 … s until 35 s. The call with the number `slow` takes a minute. Returns the error, and when
  /// it came.
  private func outcome(slow: Int, seed: UInt64) async -> ((any Error)?, Duration) {
    await withVirtualTime(seed: seed) { time in
      let start = time.now
      @Sendable func call(_ attempt: Int) async throws {
        if attempt == slow { try await time.sleep(for: .seconds(60)) }
        throw Failed(attempt: attempt)
      }
      let backoff = Backoff.constant(.seconds(10))
      var thrown: (any Error)?
      do { try await withRetries(.max, backoff: backoff, deadline: .now + .seconds(35)) { try await call($0) } } catch {
        thrown = error
      }
      return (thrown, time.now - start)
    }
  }

  @Test("a pause that would last until the deadline is not begun", arguments: 0..<20 as Range<UInt64>)
  func noTimeForPause(seed: UInt64) async {
    let (error, span) = await outcome(slow: 0, seed: seed)
    #expect(error as? Failed == Failed(attempt: 4) && span == .seconds(30))
  }

  @Test("a deadline during a call cancels it", arguments: 0..<20 as Range<UInt64>) func deadlineInCall(seed: UInt64)
    async
  {
    let (error, span) = await outcome(slow: 2, seed: seed)
    #expect(error as? SchedulerError == .timeout && span == .seconds(35))
  }
}
