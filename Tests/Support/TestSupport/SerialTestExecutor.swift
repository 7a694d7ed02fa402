import Dispatch

/// Runs the jobs of tasks that prefer it one at a time, in the order of submission. Swift's own threads run them in any
/// order.
public final class SerialTestExecutor: TaskExecutor {
  public static let shared = SerialTestExecutor()
  private let queue = DispatchQueue(label: "serial test executor")

  public init() {}

  public func enqueue(_ job: UnownedJob) { queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) } }
}
