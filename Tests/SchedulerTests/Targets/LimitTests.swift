import Foundation
import Scheduler
import Synchronization
import TestSupport
import Testing

@Suite(.nothingIsLeft) struct LimitTests {
  /// How many are inside, and were at most.
  private final class Visits: Sendable {
    private let counts = Protected((now: 0, most: 0))
    func visit(_ body: () -> Void) {
      counts.withLock {
        $0.now += 1
        $0.most = max($0.most, $0.now)
      }
      body()
      counts.withLock { $0.now -= 1 }
    }
    var most: Int { counts.read().most }
  }

  @Test("no more actions than the limit run at a time, blocked ones included", arguments: [1, 4])
  func most(limit: Int) {
    let limited = ConcurrentScheduler(limit: limit), visits = Visits(), done = Latch(count: 100)
    for _ in 0..<100 {
      limited.schedule {
        visits.visit { usleep(500) }
        done.countDown()
      }
    }
    #expect(synchronously { done.wait(for: .seconds(60)) })
    #expect(visits.most <= limit)
  }

  @Test("what a limit keeps waiting keeps nobody else waiting") func others() {
    let limited = ConcurrentScheduler(limit: 2), open = Gate(), ran = Gate(), last = Gate()
    for _ in 0..<2 { limited.schedule { open.wait() } }
    limited.schedule { last.open() }
    ConcurrentScheduler().schedule { ran.open() }
    #expect(synchronously { ran.wait() })
    for _ in 0..<2 { open.open() }
    #expect(synchronously { last.wait() })
  }

  @Test("tasks on a limited scheduler end, and the scheduler may be let go meanwhile") func tasks() async {
    for limit in [1, 2] {
      let results = await withTaskGroup(of: Int.self) { group in
        let limited = ConcurrentScheduler(limit: limit)
        for n in 0..<200 {
          group.addTask(executorPreference: limited) {
            await Task.yield()
            return n
          }
        }
        return await group.reduce(0, +)
      }
      #expect(results == 19_900)
    }
  }

  @Test("a limited scheduler that was let go is current in its actions all the same") func current() {
    let log = Log<Bool>(), gate = Gate()
    ConcurrentScheduler(name: "gone", limit: 2).schedule {
      log.add((Schedulers.current as? ConcurrentScheduler)?.name == "gone")
      gate.open()
    }
    #expect(synchronously { gate.wait() })
    #expect(log.entries == [true])
  }

  @Test("a limit below one stops the process, and names the scheduler") func belowOne() async {
    var result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = ConcurrentScheduler(name: "downloads", limit: 0)
    }
    expectMessage(
      result, "Scheduler: ConcurrentScheduler.init: \"downloads\": ", "a limit of 0", "Give one of 1 or more")
    result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = ConcurrentScheduler(name: "downloads", limit: .min)
    }
    expectMessage(result, "Scheduler: ConcurrentScheduler.init: \"downloads\": ", "Give one of 1 or more")
  }
}
