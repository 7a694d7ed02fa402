import SchedulerVirtualTime
import TestSupport
import Testing

@Suite(.nothingIsLeft, .disabled(if: VirtualTime.isAvailable)) struct UnavailableTests {
  @Test("where there is no virtual time for tasks, withVirtualTime reports that") func unavailable() async {
    await #expect(throws: VirtualTimeError.unavailable) {
      try await withVirtualTime { _ in try Task.checkCancellation() }
    }
  }
}
