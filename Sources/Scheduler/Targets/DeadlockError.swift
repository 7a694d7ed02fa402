/// Says that a wait was refused because it could never end: the caller keeps from going on what it would wait for.
public struct DeadlockError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Makes the error, to compare one with.
  public init() {}

  public var description: String {
    "the wait could never end: the caller keeps from going on what it would wait for. Wait elsewhere."
  }
}
