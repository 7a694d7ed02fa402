import Scheduler
import SchedulerExecutors
import TestSupport
import Testing

/// What can be seen in a process that has made tasks already. What the executors do is seen in programs of their own:
/// Tests/Integration/AllTasks.
@Suite(.nothingIsLeft) struct GlobalExecutorsTests {
  @Test("an installation after the first task is refused, and changes nothing") func late() async {
    let expected: GlobalExecutors.InstallError = GlobalExecutors.isAvailable ? .late : .unavailable
    for _ in 0..<3 { #expect(throws: expected) { try GlobalExecutors.install() } }
    #expect(!GlobalExecutors.isInstalled)
    await Task { await Task.yield() }.value
    await MainActor.run {}
    #expect(GlobalExecutors.jobs == GlobalExecutors.Jobs())
  }

  @Test("each refusal says what to do") func refusals() {
    #expect("\(GlobalExecutors.InstallError.late)".contains("link SchedulerExecutorsLinked"))
    #expect("\(GlobalExecutors.InstallError.unavailable)".contains("It needs Swift 6.3 on Linux"))
  }
}
