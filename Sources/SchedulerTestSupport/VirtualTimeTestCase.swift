public import SchedulerVirtualTime
public import XCTest

/// A test case of XCTest whose tests can run in virtual time.
///
/// ```swift
/// final class ReminderTests: VirtualTimeTestCase {
///   func testReminder() async throws {
///     try await inVirtualTime(seeds: 1...100) { time in
///       try await Task.sleep(for: .seconds(3_600))  // takes no real time
///       XCTAssertEqual(time.now, MonotonicTime(nanoseconds: 3_600_000_000_000))
///     }
///   }
/// }
/// ```
open class VirtualTimeTestCase: XCTestCase {
  /// Runs `body` in virtual time, in the order in which its jobs arrive: see `withVirtualTime`.
  ///
  /// - Parameters:
  ///   - limits: when the body counts as endless or stalled.
  ///   - file: the caller's file, for messages.
  ///   - line: the caller's line, for messages.
  ///   - body: the test. It receives the virtual time.
  /// - Throws: the error of the body, or `VirtualTimeError`.
  public final func inVirtualTime(
    limits: VirtualTime.Limits = .init(), file: StaticString = #fileID, line: Int = #line,
    _ body: @escaping @Sendable (VirtualTime) async throws -> Void
  ) async throws {
    try await withVirtualTime(limits: limits, file: file, line: line, body)
  }

  /// Runs `body` in virtual time once for each seed, until it fails.
  ///
  /// - Parameters:
  ///   - seeds: the seeds, in ascending order. A seed determines the order in which the jobs of tasks and actors run.
  ///   - limits: when the body counts as endless or stalled, for each seed.
  ///   - file: the caller's file, for messages.
  ///   - line: the caller's line, for messages.
  ///   - body: the test. It receives the virtual time, and must create all objects that it uses: it runs once for each
  ///     seed.
  /// - Throws: `ExplorationFailure`, with the first seed for which `body` throws, cannot end, or fails an `XCTAssert…`.
  public final func inVirtualTime(
    seeds: ClosedRange<Int>, limits: VirtualTime.Limits = .init(), file: StaticString = #fileID, line: Int = #line,
    _ body: @escaping @Sendable (VirtualTime) async throws -> Void
  ) async throws {
    for seed in seeds.map({ UInt64(bitPattern: Int64($0)) }) {  // bit pattern: a negative seed is valid
      let before = failureCount
      do { try await withVirtualTime(seed: seed, limits: limits, file: file, line: line, body) } catch {
        throw ExplorationFailure(seed: seed, error: error)
      }
      // a failed `XCTAssert…` does not throw, so it is found by the count
      if failureCount > before { throw ExplorationFailure(seed: seed, error: AssertionFailure()) }
    }
  }

  private var failureCount: Int { (testRun?.totalFailureCount) ?? 0 }  // failures of this test so far
}

/// The error in an `ExplorationFailure` if an `XCTAssert…` of the body failed. XCTest has reported that failure before.
private struct AssertionFailure: Error {}
