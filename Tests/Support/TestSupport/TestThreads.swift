import CTestSupport
import Synchronization

/// Runs the jobs of tests on threads that are made as they are needed, so that a test that blocks its thread holds up
/// no other test.
///
/// Swift Testing runs tests on Swift's cooperative threads, of which there are as many as processors: two tests that
/// block there would hold up all others.
public final class TestThreads: TaskExecutor, Sendable {
  public static let shared = TestThreads()

  private struct Job: @unchecked Sendable {  // unchecked: an unowned job may be run on any thread
    let job: UnownedJob
    let executor: UnownedTaskExecutor
  }

  public func enqueue(_ job: consuming ExecutorJob) {
    let job = Job(job: UnownedJob(job), executor: asUnownedTaskExecutor())
    ctest_run_on_thread(
      { context in
        let box = Unmanaged<Box>.fromOpaque(context!).takeRetainedValue()
        box.job.job.runSynchronously(on: box.job.executor)
      }, Unmanaged.passRetained(Box(job)).toOpaque())
  }

  private final class Box: Sendable {
    let job: Job
    init(_ job: Job) { self.job = job }
  }
}
