import Scheduler
import TestSupport
import Testing

/// A stop's effect on the actions that wait in queues.
@Suite(.nothingIsLeft) struct StopTests {
  private static let depths = [1, 2, 3]

  /// Returns the outermost of `depth` queues, each on the one before; the first is on `base`.
  private func queues(_ depth: Int, on base: SchedulerTarget) -> SerialScheduler {
    (1..<depth).reduce(SerialScheduler(target: base)) { below, _ in SerialScheduler(target: below) }
  }

  @Test("a thread that is stopped runs all that queues on it have accepted", arguments: depths)
  func thread(depth: Int) throws {
    let thread = try ThreadScheduler(), queue = queues(depth, on: thread), runs = Counter(), drops = Counter()
    let hold = Gate()
    thread.schedule { hold.wait() }
    for _ in 0..<1_000 {
      queue.schedule {
        _ = runs.increment()
      } onDrop: { _ in
        _ = drops.increment()
      }
    }
    thread.stop()
    hold.open()
    thread.join()
    #expect(runs.value == 1_000)
    #expect(drops.value == 0)
    queue.schedule {
      _ = runs.increment()
    } onDrop: { _ in
      _ = drops.increment()
    }
    #expect(runs.value == 1_000 && drops.value == 1)
  }

  @Test(
    "a pool that is stopped runs all that queues on it have accepted, and actions that submit for ever do not keep it",
    arguments: depths)
  func pool(depth: Int) async throws {
    let pool = try WorkerPool(workers: 2), free = pool.scheduler(), queue = queues(depth, on: free)
    let runs = Counter(), drops = Counter(), hold = Gate()
    for _ in 0..<2 { free.schedule { hold.wait() } }
    for _ in 0..<1_000 {
      queue.schedule {
        _ = runs.increment()
      } onDrop: { _ in
        _ = drops.increment()
      }
    }
    @Sendable func feed() { queue.schedule { feed() } }
    feed()
    pool.stop()
    for _ in 0..<2 { hold.open() }
    await pool.stopAndJoin()
    #expect(runs.value == 1_000)
    #expect(drops.value == 0)
  }

  @Test("a shutdown runs all that queues on the shared pool have accepted") func shutdown() async {
    await #expect(processExitsWith: .success) {
      let queue = SerialScheduler(target: SerialScheduler()), runs = Counter()
      for _ in 0..<1_000 { queue.schedule { _ = runs.increment() } }
      Schedulers.shutdown()
      precondition(eventually { runs.value == 1_000 }, "\(runs.value)")
    }
  }
}
