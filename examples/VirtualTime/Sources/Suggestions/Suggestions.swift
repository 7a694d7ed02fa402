import AsyncAlgorithms

/// Asks a server for suggestions while the user types: once for each pause, and never before the server has answered
/// the previous request.
///
/// It takes its clock from outside, so that its tests need not wait.
public struct Suggestions<Time: Clock> where Time: Sendable, Time.Duration == Duration {
  let clock: Time
  let ask: @Sendable (String) async throws -> [String]

  public init(clock: Time, ask: @escaping @Sendable (String) async throws -> [String]) {
    self.clock = clock
    self.ask = ask
  }

  /// The answers to what is in `keys` where they pause for 300 ms.
  public func answers(
    to keys: some AsyncSequence<String, Never> & Sendable
  ) -> some AsyncSequence<[String], any Error> {
    let ask = ask
    return keys.debounce(for: .milliseconds(300), clock: clock).map { try await ask($0) }
  }
}
