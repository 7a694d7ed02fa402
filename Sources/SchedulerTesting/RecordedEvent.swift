public import Scheduler

/// One entry of the history of a ``RecordingScheduler``.
public struct RecordedEvent: Hashable, Sendable, CustomStringConvertible {
  /// What happened to an action.
  public enum Kind: Hashable, Sendable {
    /// It was scheduled.
    case scheduled
    /// It began to run.
    case ran
    /// It was disposed before it had begun.
    case disposed
  }

  /// What happened.
  public let kind: Kind
  /// When it happened, as the scheduler counts time.
  public let time: MonotonicTime
  /// To which action it happened: 1 for the first that was scheduled.
  public let ordinal: Int
  /// The delay with which the action was scheduled; `nil` for one without.
  public let delay: Duration?

  /// Makes an event, to compare a history with.
  ///
  /// - Parameters:
  ///   - kind: what happened.
  ///   - time: when.
  ///   - ordinal: to which action: 1 for the first.
  ///   - delay: with which that was scheduled; `nil`: without one.
  public init(kind: Kind, time: MonotonicTime, ordinal: Int, delay: Duration? = nil) {
    self.kind = kind
    self.time = time
    self.ordinal = ordinal
    self.delay = delay
  }

  public var description: String { "#\(ordinal) \(kind) at \(time.nanoseconds) ns" }
}
