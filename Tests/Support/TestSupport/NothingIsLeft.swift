import Testing

/// Fails a test that leaves something of ours behind: see ``QuietMoments``.
public struct NothingIsLeft: SuiteTrait, TestTrait, TestScoping {
  /// Its tests, and those of the suites inside.
  public let isRecursive = true
  private let moments: QuietMoments

  public init(at moments: QuietMoments = .shared) { self.moments = moments }

  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    await moments.enter(test.displayName ?? test.name, isUrgent: test.timeLimit != nil)
    let outcome: Result<Void, any Error>
    do { outcome = .success(try await function()) } catch { outcome = .failure(error) }
    if let finding = await moments.leave() { Issue.record(finding, sourceLocation: test.sourceLocation) }
    try outcome.get()
  }
}

extension Trait where Self == NothingIsLeft {
  /// Each test ends with nothing of ours alive.
  public static var nothingIsLeft: Self { NothingIsLeft() }
}
