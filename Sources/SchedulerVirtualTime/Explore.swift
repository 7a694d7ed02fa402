/// Runs `body` in virtual time under many orders of its jobs, until one fails: the orders in which actors and tasks can take their turns, and a program
/// must stand.
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
/// With a seed, a call of an actor takes its turn among what can run, also where the actor is idle. The first seed that fails is printed on the standard error and
/// is in the error; `withVirtualTime(seed:)` with it runs the same order again, unless other threads have a part in it.
///
/// - Parameters:
///   - count: how many seeds. Not positive: none.
///   - first: the first of them; the others follow it.
///   - limits: for each seed.
///   - isolation: the caller's, which the body has, too.
///   - file: who calls, for messages.
///   - line: who calls, for messages.
///   - body: what must not throw. It makes all that it uses anew.
/// - Throws: ``ExplorationFailure``, at the first seed for which `body` throws, or cannot come to its end; `CancellationError` when the task is cancelled.
public func explore(
  seeds count: Int, from first: UInt64 = 0, limits: VirtualTime.Limits = .init(),
  isolation: isolated (any Actor)? = #isolation,
  file: StaticString = #fileID, line: Int = #line, _ body: @escaping (VirtualTime) async throws -> Void
) async throws {
  for number in 0..<max(0, count) {
    try Task.checkCancellation()
    let seed = first &+ UInt64(number)
    do {
      try await withVirtualTime(seed: seed, limits: limits, file: file, line: line, body)
    } catch {
      try Task.checkCancellation()
      warn(
        "\(file):\(line): fails with seed \(seed), after \(number) others. To replay it: withVirtualTime(seed: \(seed)) { … }. \(error)"
      )
      throw ExplorationFailure(seed: seed, error: error)
    }
  }
}

/// The order that a body does not stand: see ``explore(seeds:from:limits:isolation:file:line:_:)``.
public struct ExplorationFailure: Error, CustomStringConvertible {
  /// What the order is drawn from.
  public let seed: UInt64
  /// What the body threw, or ``VirtualTimeError``.
  public let error: any Error

  public var description: String { "seed \(seed): \(error)" }
}
