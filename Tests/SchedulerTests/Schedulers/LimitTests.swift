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
    let limited = ConcurrentScheduler(limit: limit), visits = Visits(), done = ActionGroup(entered: 100)
    for _ in 0..<100 {
      limited.schedule {
        visits.visit { usleep(500) }
        done.leave()
      }
    }
    #expect(synchronously { done.wait(for: .seconds(60)) })
    #expect(visits.most <= limit)
  }

  @Test("a scheduler with a bound refuses excess actions, and the place of a disposed action is free")
  func refuses() async throws {
    let limited = ConcurrentScheduler(limit: 1, waiting: 2), begun = Gate(), open = Gate(), log = Log<String>()
    func fill() throws -> [any Disposable] {
      try ["first", "second"].map { name in try limited.trySchedule { log.add(name) } }
    }
    limited.schedule {
      begun.open()
      open.wait()
    }
    #expect(synchronously { begun.wait() })
    for disposed in 0...1 {
      let tokens = try fill()
      limited.schedule {
        log.add("refused")
      } onDrop: {
        log.add($0 == .refused ? "is refused" : "\($0)")
      }
      #expect(throws: SchedulerError.refused) { try limited.trySchedule { log.add("refused") } }
      await #expect(throws: SchedulerError.refused) { try await limited.perform { log.add("refused") } }
      let results = ResultGroup<Int>()
      results.schedule(on: limited) { 1 }
      await #expect(throws: SchedulerError.refused) { try await results.next()?.get() }
      tokens[disposed].dispose()
      let last = try limited.trySchedule { log.add("last") }
      #expect(throws: SchedulerError.refused) { try limited.trySchedule { log.add("refused") } }
      last.dispose()
      tokens[1 - disposed].dispose()
    }
    _ = try fill()
    let queue = SerialScheduler(target: limited)  // is accepted
    queue.schedule { log.add("queue") }
    limited.schedule(after: .microseconds(1)) { log.add("delayed") }
    usleep(2_000)
    open.open()
    #expect(eventually { log.entries.count == 6 })
    #expect(log.entries.prefix(4) == ["is refused", "is refused", "first", "second"])
  }

  @Test("a scheduler with a bound blocks a submitter that is too fast", arguments: [false, true]) func blocks(
    inPool: Bool
  ) {
    let limited = ConcurrentScheduler(limit: 2, waiting: 3, whenFull: .block), started = Counter(),
      group = ActionGroup()
    let highest = Protected(0), total = Scale.count(2_000), ended = Gate()
    let produce: @Sendable () -> Void = {
      for accepted in 1...total {
        group.schedule(on: limited) { started.increment() }
        let open = accepted - started.value
        highest.withLock { $0 = max($0, open) }
      }
      ended.open()
    }
    if inPool { ConcurrentScheduler().schedule(produce) } else { onThreads(1) { _ in produce() } }
    #expect(synchronously { ended.wait() && group.wait(for: .seconds(60)) })
    #expect(started.value == total && highest.read() <= 5)
  }

  @Test("work that waits in a limit delays no other work") func others() {
    let limited = ConcurrentScheduler(limit: 2), open = Gate(), ran = Gate(), last = Gate()
    for _ in 0..<2 { limited.schedule { open.wait() } }
    limited.schedule { last.open() }
    ConcurrentScheduler().schedule { ran.open() }
    #expect(synchronously { ran.wait() })
    for _ in 0..<2 { open.open() }
    #expect(synchronously { last.wait() })
  }

  @Test("tasks on a limited scheduler end, and the scheduler may be released meanwhile") func tasks() async {
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

  @Test("a released limited scheduler is still current in its actions") func current() {
    let log = Log<Bool>(), gate = Gate()
    ConcurrentScheduler(name: "gone", limit: 2).schedule {
      log.add((Schedulers.current as? ConcurrentScheduler)?.name == "gone")
      gate.open()
    }
    #expect(synchronously { gate.wait() })
    #expect(log.entries == [true])
  }

  @Test("a barrier runs alone, between earlier and later actions") func barriers() {
    let cache = ConcurrentScheduler(limit: 4), log = Log<String>(), done = ActionGroup(entered: 9), open = Gate()
    for n in 0..<9 {
      let name = n % 3 == 2 ? "barrier" : "read"
      let scheduler: SchedulerTarget = n % 3 == 2 ? cache.barrier : cache
      scheduler.schedule {
        if n == 0 { open.wait() }
        #expect(Schedulers.current === scheduler)
        log.add("\(name) in")
        usleep(200)
        log.add("\(name) out")
        done.leave()
      }
    }
    usleep(2_000)
    #expect(!log.entries.contains("barrier in"))
    open.open()
    #expect(synchronously { done.wait(for: .seconds(60)) })
    for (at, entry) in log.entries.enumerated() where entry == "barrier in" {
      #expect(at % 6 == 4 && log.entries[at + 1] == "barrier out")
    }
  }

  @Test("a released barrier runs, delayed and periodic ones, too") func releasedBarriers() {
    let ran = ActionGroup(entered: 2), ticks = ActionGroup(entered: 3)
    ConcurrentScheduler(limit: 2).barrier.schedule { ran.leave() }
    ConcurrentScheduler(limit: 2).barrier.schedule(after: .milliseconds(2)) { ran.leave() }
    let ticking = ConcurrentScheduler(limit: 2).barrier.schedule(.every(.milliseconds(1), after: .zero)) {
      if ticks.pendingCount > 0 { ticks.leave() }
    }
    #expect(synchronously { ran.wait(for: .seconds(60)) && ticks.wait(for: .seconds(60)) })
    ticking.disposeAndWait()
  }

  @Test("to wait inside of an action for a barrier, or inside of a barrier for an action, throws") func barrierWaits() {
    let limited = ConcurrentScheduler(limit: 3), log = Log<Bool>(), done = ActionGroup(entered: 3)
    let inside = SerialScheduler(target: limited), alone = SerialScheduler(target: limited.barrier)
    for (scheduler, queue) in [(limited, alone), (limited.barrier, alone), (limited.barrier, inside)]
      as [(SchedulerTarget, SerialScheduler)]
    {
      scheduler.schedule {
        do { try queue.trySync {} } catch { log.add(error as? SchedulerError == .deadlock) }
        done.leave()
      }
    }
    #expect(synchronously { done.wait(for: .seconds(60)) })
    #expect(log.entries == [true, true, true])
    #expect(synchronously { alone.sync { 1 } + inside.sync { 2 } } == 3)
  }

  @Test("a scheduler without a limit has no barriers: that stops the process") func barrierWithoutLimit() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = ConcurrentScheduler(name: "shared").barrier
    }
    expectMessage(result, "Scheduler: ConcurrentScheduler.barrier: \"shared\": ", "Make it with one")
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
