import Foundation
import Scheduler
import TestSupport
import Testing

@Suite(.nothingIsLeft) struct ThreadSchedulerGroupTests {
  @Test("next gives each thread its turn, also when several ask") func turns() throws {
    let group = try ThreadSchedulerGroup(count: 3, name: "turn"), log = Log<ObjectIdentifier>()
    onThreads(3) { _ in for _ in 0..<100 { log.add(ObjectIdentifier(group.next())) } }
    for scheduler in group.schedulers {
      #expect(log.entries.count { $0 == ObjectIdentifier(scheduler) } == 100)
    }
    #expect(Set(group.schedulers.map(ObjectIdentifier.init)).count == 3)
    synchronously { group.stopAndJoin() }
  }

  @Test("equal keys are on the same thread, and many keys on all of them") func keys() throws {
    let group = try ThreadSchedulerGroup(count: 4)
    for key in 0..<100 { #expect(group.scheduler(for: "\(key)") === group.scheduler(for: "\(key)")) }
    #expect(Set((0..<1_000).map { ObjectIdentifier(group.scheduler(for: $0)) }).count == 4)
    synchronously { group.stopAndJoin() }
  }

  @Test("the threads bear the group's name and their number, however long the name is") func names() throws {
    let group = try ThreadSchedulerGroup(count: 11, name: "a-name-that-is-too-long")
    let names = threadNames()
    #expect(names.contains("a-name-that-i-0") && names.contains("a-name-that--10"))
    synchronously { group.stopAndJoin() }
  }

  @Test("what a group was given runs before it has ended") func ends() async throws {
    let group = try ThreadSchedulerGroup(count: 2), count = Counter()
    for _ in 0..<100 { group.next().schedule { count.increment() } }
    await group.stopAndJoin()
    #expect(count.value == 100)
    #expect(throws: StoppedError.self) { try group.next().trySchedule {} }
  }

  @Test("a group of no thread, or of too many, stops the process")
  func absurd() async {
    let none = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = try ThreadSchedulerGroup(count: 0, name: "none")
    }
    expectMessage(none, "ThreadSchedulerGroup.init", "Ask for 1 to")
    let many = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = try ThreadSchedulerGroup(count: .max)
    }
    expectMessage(many, "ThreadSchedulerGroup.init", "Ask for 1 to")
  }
}
