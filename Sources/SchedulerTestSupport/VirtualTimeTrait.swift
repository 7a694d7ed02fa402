public import SchedulerVirtualTime
internal import Synchronization
public import Testing

/// Runs a test in virtual time, once for each seed: see `.virtualTime(seeds:limits:)`.
public struct VirtualTimeTrait: TestTrait, SuiteTrait, TestScoping {
  private let seeds: [Int]?  // nil: one run, in the order in which jobs arrive
  private let limits: VirtualTime.Limits

  fileprivate init(_ seeds: [Int]?, _ limits: VirtualTime.Limits) {
    self.seeds = seeds
    self.limits = limits
  }

  /// Each test of a suite has the trait.
  public var isRecursive: Bool { true }

  /// Returns the trait for each test case. Returns nil for a whole test function or suite (`testCase` is nil), which
  /// would enclose its test cases.
  public func scopeProvider(for test: Test, testCase: Test.Case?) -> Self? { testCase == nil ? nil : self }

  /// Runs `function`, the test, in virtual time; with seeds, once for each seed, until it records an issue that is not
  /// known.
  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    // Swift stops the process at the end of this call if `function` is still in use: after a test that never ends,
    // whose issue has been recorded.
    try await withoutActuallyEscaping(function) { function in
      guard let seeds else { return await run(function, for: test) }
      for seed in seeds {
        let advice: Comment = "with seed \(seed). To replay it: .virtualTime(seeds: \(seed)...\(seed))"
        if try await addingToIssues(
          advice, for: test, testCase, { await run(function, seed: UInt64(bitPattern: Int64(seed)), for: test) })
        {
          return  // the test has failed with this seed: the other seeds are not run
        }
      }
    }
  }

  /// Runs `function` in virtual time, and records what it throws as an issue of `test`.
  private func run(_ function: @escaping @Sendable () async throws -> Void, seed: UInt64? = nil, for test: Test) async {
    do { try await withVirtualTime(seed: seed, limits: limits) { _ in try await function() } } catch {
      Issue.record(error, sourceLocation: test.sourceLocation)
    }
  }

  /// Calls `body`, and adds `advice` to each issue that `body` records. Returns whether an issue is a failure.
  private func addingToIssues(
    _ advice: Comment, for test: Test, _ testCase: Test.Case?, _ body: @Sendable () async throws -> Void
  ) async throws -> Bool {
    let failure = Failure()
    let handler = IssueHandlingTrait.compactMapIssues { issue in
      if issue.isFailureHere { failure.wasRecorded.withLock { $0 = true } }
      var issue = issue
      issue.comments.append(advice)
      return issue
    }
    try await handler.provideScope(for: test, testCase: testCase, performing: body)
    return failure.wasRecorded.withLock { $0 }
  }
}

extension Issue {
  /// Whether the issue fails the test. Before Swift 6.3 each one does.
  fileprivate var isFailureHere: Bool {
    #if compiler(>=6.3)
      isFailure
    #else
      true
    #endif
  }
}

/// Whether the body of `addingToIssues` has recorded a failure: an object, because an escaping closure sets it.
private final class Failure: Sendable { let wasRecorded = Mutex(false) }

extension Trait where Self == VirtualTimeTrait {
  /// Runs the test in virtual time, in the order in which its jobs arrive: see `withVirtualTime`.
  ///
  /// ```swift
  /// @Test(.virtualTime) func reminder() async throws {
  ///   let start = VirtualTime.current!.now
  ///   try await Task.sleep(for: .seconds(3_600))  // takes no real time
  ///   #expect(start.duration(to: VirtualTime.current!.now) == .seconds(3_600))
  /// }
  /// ```
  ///
  /// `Task.sleep`, `VirtualTime.clock`, and the schedulers that the test creates share one virtual time. On a suite,
  /// each test has its own.
  public static var virtualTime: Self { virtualTime(limits: .init()) }

  /// Runs the test in virtual time, in the order in which its jobs arrive.
  ///
  /// - Parameter limits: when the test counts as endless or stalled.
  public static func virtualTime(limits: VirtualTime.Limits) -> Self { VirtualTimeTrait(nil, limits) }

  /// Runs the test in virtual time once for each seed, until it fails. A seed determines the order in which the jobs of
  /// tasks and actors run.
  ///
  /// ```swift
  /// @Test(.virtualTime(seeds: 1...100)) func withdraw() async throws {
  ///   let account = Account(balance: 100)
  ///   async let one: Void = account.withdraw(80), other: Void = account.withdraw(80)
  ///   _ = await (one, other)
  ///   #expect(await account.balance >= 0)
  /// }
  /// ```
  ///
  /// A failure names the seed, and the trait that runs this seed only.
  ///
  /// - Parameters:
  ///   - seeds: the seeds, in ascending order.
  ///   - limits: when the test counts as endless or stalled, for each seed.
  public static func virtualTime(seeds: ClosedRange<Int>, limits: VirtualTime.Limits = .init()) -> Self {
    VirtualTimeTrait(Array(seeds), limits)
  }
}
