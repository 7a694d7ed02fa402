public import Scheduler

/// One entry of the history of a ``RecordingScheduler``.
public struct RecordedEvent: Hashable, Sendable, CustomStringConvertible {
  /// What happened to an action.
  public enum Kind: Hashable, Sendable {
    /// The action was scheduled.
    case scheduled
    /// The action started.
    case ran
    /// The action was disposed before it started.
    case disposed
  }

  /// What happened to the action.
  public let kind: Kind
  /// When it happened, on the scheduler's clock.
  public let time: MonotonicTime
  /// The number of the action: 1 for the first scheduled one.
  public let ordinal: Int
  /// The delay of the action; `nil` if it was scheduled without one.
  public let delay: Duration?

  /// Creates an event to compare a history with.
  ///
  /// - Parameters:
  ///   - kind: what happened.
  ///   - time: when it happened.
  ///   - ordinal: the number of the action: 1 for the first.
  ///   - delay: the delay of the action; `nil` if it was scheduled without one.
  public init(kind: Kind, time: MonotonicTime, ordinal: Int, delay: Duration? = nil) {
    self.kind = kind
    self.time = time
    self.ordinal = ordinal
    self.delay = delay
  }

  public var description: String { "#\(ordinal) \(kind) at \(time.nanoseconds) ns" }
}
