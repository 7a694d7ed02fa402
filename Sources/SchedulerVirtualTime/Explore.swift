/// Runs `body` in virtual time once for each seed, each time with another order of its jobs, until `body` fails with
/// one of them. Actors and tasks can run in any of these orders, and a correct program works with all of them.
///
/// ```swift
/// try await explore(seeds: 1_000) { time in
///   let account = Account(balance: 100)
///   async let one: Void = account.withdraw(80)
///   async let other: Void = account.withdraw(80)
///   _ = await (one, other)
///   try #require(await account.balance >= 0)
/// }
/// ```
///
/// With a seed, a call of an actor is queued as a job among the runnable jobs, even if the actor is idle. The first
/// failing seed is printed to standard error, and is in the thrown error. `withVirtualTime(seed:)` with that seed
/// repeats the order, unless other threads add jobs.
///
/// - Parameters:
///   - count: the number of seeds. Zero or less: `body` is not run.
///   - first: the first seed; each next seed is one more.
///   - limits: the limits for each seed.
///   - isolation: the caller's isolation, which the body shares.
///   - file: the caller's file, for messages.
///   - line: the caller's line, for messages.
///   - body: the test, which throws on failure. It must create all objects that it uses.
/// - Throws: ``ExplorationFailure`` at the first seed for which `body` throws or cannot end; `CancellationError` if the
///   calling task is cancelled.
public func explore(
  seeds count: Int, from first: UInt64 = 0, limits: VirtualTime.Limits = .init(),
  isolation: isolated (any Actor)? = #isolation,
  file: StaticString = #fileID, line: Int = #line, _ body: @escaping (VirtualTime) async throws -> Void
) async throws {
  for number in 0..<max(0, count) {
    try Task.checkCancellation()
    let seed = first &+ UInt64(number)  // wraps at the largest seed
    do {
      try await withVirtualTime(seed: seed, limits: limits, file: file, line: line, body)
    } catch {
      try Task.checkCancellation()  // if the caller was cancelled, the body failed for that reason: report no seed
      warn(
        "\(file):\(line): fails with seed \(seed), after \(number) others. To replay it: withVirtualTime(seed: \(seed)) { … }. \(error)"
      )
      throw ExplorationFailure(seed: seed, error: error)
    }
  }
}

/// Contains the seed for which a body failed: see ``explore(seeds:from:limits:isolation:file:line:_:)``.
public struct ExplorationFailure: Error, CustomStringConvertible {
  /// The seed of the order.
  public let seed: UInt64
  /// The error that the body threw, or a ``VirtualTimeError``.
  public let error: any Error

  package init(seed: UInt64, error: any Error) {
    self.seed = seed
    self.error = error
  }

  public var description: String { "seed \(seed): \(error)" }
}
