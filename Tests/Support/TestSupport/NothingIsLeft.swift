import Testing

/// Fails a test that leaks objects of the library (see ``TestGroups``), and runs it on a thread that it may block (see
/// ``TestThreads``). Once for a test: a suite inherits the trait from its outer suite, and a test that entered twice
/// would wait for its own end.
public struct NothingIsLeft: SuiteTrait, TestTrait, TestScoping {
  /// Its tests, and those of the suites inside.
  public let isRecursive = true
  private let groups: TestGroups
  private let executor: (any TaskExecutor)?

  /// `executor`: `nil` leaves a test on the executor that Swift Testing runs it on.
  public init(at groups: TestGroups = .shared, on executor: (any TaskExecutor)? = TestThreads.shared) {
    self.groups = groups
    self.executor = executor
  }

  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    let name = test.displayName ?? test.name
    await groups.enter(name)
    let outcome: Result<Void, any Error>
    do {
      outcome = .success(try await withTaskExecutorPreference(executor, operation: function))
    } catch {
      outcome = .failure(error)
    }
    if let finding = await groups.leave(name) { Issue.record(finding, sourceLocation: test.sourceLocation) }
    try outcome.get()
  }
}

extension Trait where Self == NothingIsLeft {
  /// Each test ends with no object of the library alive.
  public static var nothingIsLeft: Self { NothingIsLeft() }
  /// As `nothingIsLeft`, on `executor`, or on Swift's own executors.
  public static func nothingIsLeft(on executor: (any TaskExecutor)?) -> Self { NothingIsLeft(on: executor) }
}
