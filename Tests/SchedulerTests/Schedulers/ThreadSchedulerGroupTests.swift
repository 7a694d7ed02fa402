import Foundation
import Scheduler
import TestSupport
import Testing

@Suite(.nothingIsLeft) struct ThreadSchedulerGroupTests {
  @Test("next gives each thread its turn, also to concurrent callers") func turns() throws {
    let group = try ThreadScheduler.Group(count: 3, name: "turn"), log = Log<ObjectIdentifier>()
    onThreads(3) { _ in for _ in 0..<100 { log.add(ObjectIdentifier(group.next())) } }
    for scheduler in group.schedulers {
      #expect(log.entries.count { $0 == ObjectIdentifier(scheduler) } == 100)
    }
    #expect(Set(group.schedulers.map(ObjectIdentifier.init)).count == 3)
    synchronously { group.stopAndJoin() }
  }

  @Test("equal keys are on the same thread, and many keys on all of them") func keys() throws {
    let group = try ThreadScheduler.Group(count: 4)
    for key in 0..<100 { #expect(group.scheduler(for: "\(key)") === group.scheduler(for: "\(key)")) }
    #expect(Set((0..<1_000).map { ObjectIdentifier(group.scheduler(for: $0)) }).count == 4)
    synchronously { group.stopAndJoin() }
  }

  @Test("the threads bear the group's name and their number, however long the name is") func names() throws {
    let group = try ThreadScheduler.Group(count: 11, name: "a-name-that-is-too-long")
    let names = threadNames()
    #expect(names.contains("a-name-that-i-0") && names.contains("a-name-that--10"))
    synchronously { group.stopAndJoin() }
  }

  @Test("a group's accepted actions run before it has ended") func ends() async throws {
    let group = try ThreadScheduler.Group(count: 2), count = Counter()
    for _ in 0..<100 { group.next().schedule { count.increment() } }
    await group.stopAndJoin()
    #expect(count.value == 100)
    #expect(throws: SchedulerError.stopped) { try group.next().trySchedule {} }
  }

  @Test("an option that the process may not use is an error, and no thread is left") func refused() throws {
    #expect(throws: SchedulerError.self) {
      try ThreadScheduler.Group(count: 2, name: "refused", processors: [[1_000_000]])
    }
    #expect(throws: SchedulerError.self) { try ThreadScheduler(name: "refused", processors: [-1]) }
    #expect(throws: SchedulerError.self) { try ThreadScheduler(name: "refused", priority: .nice(99)) }
    #expect(throws: SchedulerError.self) { try ThreadScheduler(name: "refused", priority: .firstInFirstOut(0)) }
    #expect(throws: SchedulerError.self) { try ThreadScheduler(name: "refused", priority: .roundRobin(.max)) }
    #expect(eventually { !threadNames().contains { $0.hasPrefix("refused") } })
  }

  #if os(Linux)
    @Test("threads are kept to their processors, and have their nice value") func kept() throws {
      let mine = processors(), nice = niceValue(), expected = min(19, nice + 1)
      let own = mine.prefix(2).map { [$0] }
      let group = try ThreadScheduler.Group(count: 3, name: "kept", processors: own, priority: .nice(expected))
      for (number, scheduler) in group.schedulers.enumerated() {
        let found = Log<[Int]>(), nices = Log<Int>()
        scheduler.schedule {
          nices.add(niceValue())
          found.add(processors())
        }
        #expect(eventually { found.entries == [own[number % own.count]] })
        #expect(nices.entries == [expected])
      }
      #expect(processors() == mine && niceValue() == nice)
      synchronously { group.stopAndJoin() }
    }
  #endif

  @Test("a group of no thread, or of too many, stops the process")
  func absurd() async {
    let none = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = try ThreadScheduler.Group(count: 0, name: "none")
    }
    expectMessage(none, "ThreadScheduler.Group.init", "Ask for 1 to")
    let many = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = try ThreadScheduler.Group(count: .max)
    }
    expectMessage(many, "ThreadScheduler.Group.init", "Ask for 1 to")
  }
}

#if os(Linux)
  private func ofThread(_ file: String) -> String {
    (try? String(contentsOfFile: "/proc/thread-self/\(file)", encoding: .utf8)) ?? ""
  }

  /// The numbers of those that the calling thread may run on: the system writes "0-3,6".
  private func processors() -> [Int] {
    let line = ofThread("status").split(separator: "\n").first { $0.hasPrefix("Cpus_allowed_list:") } ?? ""
    return line.split(separator: "\t").last.map { list in
      list.split(separator: ",").flatMap { range in
        let ends = range.split(separator: "-").compactMap { Int($0) }
        return ends.isEmpty ? [] : Array(ends[0]...ends[ends.count - 1])
      }
    } ?? []
  }

  /// The calling thread's: the seventeenth number behind its name.
  private func niceValue() -> Int {
    let fields = (ofThread("stat").split(separator: ")").last ?? "").split(separator: " ")
    return fields.count > 16 ? Int(fields[16]) ?? -100 : -100
  }
#endif
