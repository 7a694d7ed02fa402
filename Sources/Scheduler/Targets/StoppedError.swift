/// Says that a scheduler takes no more, because it or its target has been stopped or shut down.
public struct StoppedError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Makes the error, to compare one with.
  public init() {}

  public var description: String { "the scheduler, or its target, has been stopped: make another one" }
}
