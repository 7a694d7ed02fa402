import Scheduler
import SchedulerRx
import TestSupport
import Testing

/// Objects that a test leaves, until they are released.
private let kept = Protected<[any Sendable]>([])

/// That the check at the end of each test can fail.
@Suite(.nothingIsLeft) struct LeakCheckTests {
  /// Runs `test` as one that may leave nothing.
  static func check(_ test: @Sendable () async throws -> Void) async throws {
    let groups = TestGroups(width: 1, patience: .milliseconds(20))
    try await NothingIsLeft(at: groups).provideScope(
      for: #require(Test.current), testCase: Test.Case.current, performing: test)
  }

  @Test("a test that leaves something fails") func fails() async throws {
    try await withKnownIssue {
      try await Self.check { kept.withLock { $0.append(Disposables.create {}) } }
    } matching: {
      $0.error is TestGroups.Finding
    }
    kept.withLock { $0 = [] }
  }

  @Test("each kind of leak is found, once, and the test is named; a short delay of an end is no finding")
  func finds() async {
    await #expect(processExitsWith: .success) {
      let groups = TestGroups(width: 1, patience: .milliseconds(500))
      func finding(_ leave: () throws -> Void) async rethrows -> Diagnostics? {
        await groups.enter("careless")
        try leave()
        let found = await groups.leave("careless")
        #expect(found.map { $0.tests == ["careless"] && $0.description.contains("careless") } ?? true)
        return found?.left
      }
      func keep(_ value: any Sendable) { kept.withLock { $0.append(value) } }

      weak var cyclic: SingleAssignmentDisposable?
      let cycle = await finding {
        let own = SingleAssignmentDisposable()
        own.setDisposable(Disposables.create(own, own))
        cyclic = own
      }
      #expect(cycle?.disposables == 2 && cycle?.jobs == 0)
      cyclic?.dispose()  // or a sanitizer would find it, too
      let closure = await finding { keep(Disposables.create {}) }
      #expect(closure?.closures == 1)
      let thread = try await finding { keep(try ThreadScheduler()) }
      #expect(thread?.threads == 1 && thread?.disposables == 0)
      let queue = SerialScheduler()
      let action = await finding {
        queue.suspend()
        queue.schedule {}
      }
      #expect(action?.jobs == 1 && action?.closures == 1)
      let nothing = try await finding {
        let late = try ThreadScheduler()
        late.schedule { Gate().open() }
        late.schedule(after: .milliseconds(10)) {}
      }
      #expect(nothing == nil)
    }
  }

  @Test("as many tests run side by side as there is room for, and the last one gets the finding") func groups() async {
    await #expect(processExitsWith: .success) {
      let groups = TestGroups(width: 2, patience: .milliseconds(20))
      await groups.enter("first")
      await groups.enter("second")
      let third = Task { await groups.enter("third") }
      kept.withLock { $0.append(BooleanDisposable()) }
      #expect(await groups.leave("first") == nil)
      await third.value
      #expect(await groups.leave("second") == nil)
      let finding = await groups.leave("third")
      #expect(finding?.left.disposables == 1)
      #expect(finding?.tests == ["first", "second", "third"])
    }
  }

  @Test("a test that waits for ever ends the process with its name, and one that works does not")
  func hangs() async {
    let result = await #expect(processExitsWith: .exitCode(1), observing: [\.standardOutputContent]) {
      let groups = TestGroups(width: 2, idleSeconds: 3)
      await groups.enter("it works")
      let start = ContinuousClock.now
      var sum = 0.0
      while ContinuousClock.now < start + .seconds(5) { sum += sum.squareRoot() }
      _ = await groups.leave("it works")
      await groups.enter("it hangs")
      print("it works")
      Gate().wait()
    }
    let text = result.map { String(decoding: $0.standardOutputContent, as: UTF8.self) } ?? ""
    #expect(text.contains("it works\n") && text.contains("✘ Test \"it hangs\" hangs"), "\(text)")
  }
}
