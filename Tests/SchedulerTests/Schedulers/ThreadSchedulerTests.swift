import Foundation
import Scheduler
import SchedulerRx
import TestSupport
import Testing

@Suite(.nothingIsLeft) struct ThreadSchedulerTests {
  @Test("every action runs on the same thread, in the order of its submission")
  func sameThreadInOrder() throws {
    let scheduler = try ThreadScheduler(name: "order"), log = Log<Int>(), threads = Log<pthread_t>()
    for n in 0..<1_000 {
      scheduler.schedule {
        log.add(n)
        threads.add(pthread_self())
      }
    }
    scheduler.stop()
    scheduler.join()
    #expect(log.entries == Array(0..<1_000))
    #expect(Set(threads.entries).count == 1)
  }

  @Test("it bears its name, cut at 15 bytes and never inside a character")
  func names() throws {
    let long = try ThreadScheduler(name: "a-name-that-is-too-long"), cut = try ThreadScheduler(name: "fourteen-bytesé")
    let huge = try ThreadScheduler(name: String(repeating: "x", count: 4_096)), none = try ThreadScheduler(name: "")
    let names = threadNames()
    #expect(names.contains("a-name-that-is-"))
    #expect(long.name == "a-name-that-is-too-long" && none.name == "")
    #expect(names.contains("fourteen-bytes"))
    #expect(names.contains(String(repeating: "x", count: 15)))
    for scheduler in [long, cut, huge, none] { scheduler.stop() }
    for scheduler in [long, cut, huge, none] { scheduler.join() }
  }

  @Test("a child process of a thread that a task has started ends by a signal, though Dispatch's threads block it")
  func signalMask() async throws {
    try await Task.detached {
      let thread = try ThreadScheduler(), pool = try WorkerPool(workers: 1)
      for scheduler in [thread, pool.scheduler(), SerialScheduler()] as [any SchedulerType] {
        let child = try await scheduler.perform { spawn("exec sleep 600") }
        kill(child, SIGTERM)
        var status: Int32 = 0
        #expect(waitpid(child, &status, 0) == child && status & 0x7f == SIGTERM)
      }
      await thread.stopAndJoin()
      await pool.stopAndJoin()
    }.value
  }

  @Test("isOnThread distinguishes its own thread from others")
  func isOnThread() throws {
    let scheduler = try ThreadScheduler(), log = Log<Bool>(), done = Gate()
    scheduler.schedule {
      log.add(scheduler.isOnThread)
      scheduler.preconditionOnThread()
      done.open()
    }
    done.wait()
    #expect(log.entries == [true])
    #expect(!scheduler.isOnThread)
  }

  @Test("delayed actions run in the order of their deadlines, and never early")
  func delayed() throws {
    let scheduler = try ThreadScheduler(), log = Log<Int>(), early = Counter(), done = Gate()
    let start = ContinuousClock.now
    for delay in [300, 100, 200, 0, -5] {  // their distance exceeds a busy machine's delay of submissions
      scheduler.schedule(after: .milliseconds(delay)) {
        if ContinuousClock.now - start < .milliseconds(delay) { early.increment() }
        log.add(delay)
        if delay == 300 { done.open() }
      }
    }
    #expect(done.wait())
    #expect(log.entries == [0, -5, 100, 200, 300])
    #expect(early.value == 0)
  }

  @Test("absurd delays are defined: the past is now, beyond the end of time is never")
  func absurdDelays() throws {
    let scheduler = try ThreadScheduler(), log = Log<String>(), done = Gate()
    let never = scheduler.schedule(after: .seconds(Int64.max)) { log.add("never") }
    scheduler.schedule(after: .seconds(Int64.min)) { log.add("now") }
    scheduler.schedule(after: Duration(secondsComponent: .max, attosecondsComponent: .max)) { log.add("never") }
    scheduler.schedule(after: .milliseconds(5)) { done.open() }
    #expect(done.wait())
    #expect(log.entries == ["now"])
    never.dispose()
    scheduler.stop()
    scheduler.join()
    #expect(log.entries == ["now"])
  }

  @Test("stop runs or drops outstanding actions, by its policy", arguments: [true, false])
  func stopPolicies(runs: Bool) throws {
    let scheduler = try ThreadScheduler(), ran = Counter()
    let leave = block(scheduler)
    for _ in 0..<10 { scheduler.schedule { ran.increment() } }
    weak var seen: Token?
    do {
      let token = Token()
      seen = token
      scheduler.schedule(after: .seconds(3_600)) { [token] in
        ran.increment()
        _ = token
      }
    }
    scheduler.stop(runs ? .runOutstanding : .dropOutstanding)
    leave.open()
    scheduler.join()
    #expect(ran.value == (runs ? 10 : 0))
    #expect(seen == nil)
  }

  @Test("stop from inside, from outside, twice, and join by several threads")
  func stops() throws {
    let inside = try ThreadScheduler()
    inside.schedule { inside.stop() }
    inside.join()
    inside.stop()
    inside.stop(.dropOutstanding)
    let outside = try ThreadScheduler()
    outside.stop()
    onThreads(4) { _ in outside.join() }
    outside.join()
  }

  @Test("after stop an action is refused, and the refusal is reported")
  func refusesAfterStop() throws {
    let scheduler = try ThreadScheduler(), ran = Counter()
    scheduler.stop()
    weak var seen: Token?
    let refused: [any Disposable]
    do {
      let token = Token()
      seen = token
      refused = [
        scheduler.schedule { [token] in
          ran.increment()
          _ = token
        },
        scheduler.schedule(after: .milliseconds(1)) { [token] in
          ran.increment()
          _ = token
        },
        scheduler.schedule(1) { [token] _ in
          ran.increment()
          _ = token
          return Disposables.create()
        },
      ]
    }
    #expect(seen == nil)
    #expect(refused.allSatisfy { $0.isDisposed })
    #expect(throws: SchedulerError.stopped) { try scheduler.trySchedule { ran.increment() } }
    scheduler.join()
    #expect(ran.value == 0)
  }

  @Test("stop concurrently with submit: each action runs, or is released unrun")
  func stopAgainstSubmit() throws {
    for round in 0..<20 {
      let scheduler = try ThreadScheduler(), accepted = Counter(), ran = Counter()
      onThreads(4) { submitter in
        for n in 0..<200 {
          if submitter == 0, n == 20 + round { scheduler.stop() }
          if (try? scheduler.trySchedule { ran.increment() }) != nil { accepted.increment() }
        }
      }
      scheduler.join()
      #expect(ran.value == accepted.value)
    }
  }

  @Test("the thread ends with its last reference, after submitted and delayed actions")
  func endsWithLastReference() throws {
    let ran = Counter(), done = Gate()
    try ThreadScheduler(name: "short-lived").schedule { ran.increment() }
    try ThreadScheduler(name: "short-lived").schedule(after: .milliseconds(20)) { done.open() }
    #expect(done.wait())
    #expect(eventually { ran.value == 1 && !threadNames().contains("short-lived") })
  }

  @Test("a disposable may outlive its scheduler's thread")
  func tokenOutlives() throws {
    var tokens: [any Disposable] = []
    do {
      let scheduler = try ThreadScheduler()
      tokens.append(scheduler.schedule {})
      tokens.append(scheduler.schedule(after: .milliseconds(1)) {})
      tokens.append(scheduler.schedule(after: .seconds(3_600)) {})
      scheduler.stop()
      scheduler.join()
    }
    for token in tokens { token.dispose() }
  }

  @Test("joining on its own thread stops the process, and says why")
  func joinsItself() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let scheduler = try ThreadScheduler(name: "database")
      scheduler.schedule { scheduler.join() }
      sleep(5)
      exit(0)
    }
    expectMessage(result, "Scheduler: ThreadScheduler.join: \"database\": ", "Join from another thread")
  }

  @Test("being on another thread stops the process, and says why")
  func wrongThread() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      try ThreadScheduler(name: "database").preconditionOnThread()
    }
    expectMessage(
      result, "Scheduler: ThreadScheduler.preconditionOnThread: \"database\": ", "Schedule the work on this scheduler")
  }

  @Test("an absurd stack size is an error or rounded, never a crash")
  func stackSizes() throws {
    for size in [-1, 0, 1, 1 << 20] {
      let scheduler = try ThreadScheduler(stackSize: size)
      scheduler.stop()
      scheduler.join()
    }
    #expect(throws: SchedulerError.self) { try ThreadScheduler(stackSize: .max) }
  }

  @Test("a recursive action continues until it is disposed")
  func recursion() throws {
    let scheduler = try ThreadScheduler(), turns = Counter(), enough = Gate()
    let token = scheduler.scheduleRecursive { again in
      if turns.increment() == 1_000 { enough.open() }
      again()
    }
    #expect(enough.wait())
    token.dispose()
    let done = Gate()
    scheduler.schedule { done.open() }
    done.wait()
    let seen = turns.value
    scheduler.stop()
    scheduler.join()
    #expect(turns.value == seen)
  }

  @Test("a chain over two threads that return each other's disposables stays flat, and one dispose ends it")  // Y2
  func chainOverTwoThreads() async {
    await #expect(processExitsWith: .success) {
      let chain = try Chain()
      let before = residentKilobytes()
      let token = chain.hop(20_000)
      precondition(chain.done.wait(), "the chain has stopped")
      precondition(residentKilobytes() - before < 60_000, "the memory is not flat")
      token.dispose()
      chain.stop()
    }
  }
}

private final class Chain: Sendable {
  let schedulers: [ThreadScheduler]
  let done = Gate()

  init() throws { schedulers = [try ThreadScheduler(), try ThreadScheduler()] }

  @Sendable func hop(_ left: Int) -> any Disposable {
    if left == 0 {
      done.open()
      return Disposables.create()
    }
    return schedulers[left % 2].schedule(left - 1, action: hop)
  }

  func stop() {
    for scheduler in schedulers { scheduler.stop() }
    for scheduler in schedulers { scheduler.join() }
  }
}
