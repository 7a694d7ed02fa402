/// The instant at which a wait ends: `.now + .seconds(2)`.
///
/// Functions with a `deadline:` take one where they get no clock. It is an instant of `ContinuousClock`; inside
/// `withVirtualTime` it is an instant of the virtual time, to the nanosecond.
///
/// ```swift
/// let deadline = Deadline.now + .seconds(2)  // one instant for several steps
/// let page = try await withDeadline(deadline) { try await fetch(url) }
/// ```
public struct Deadline: InstantProtocol {
  public typealias Duration = Swift.Duration

  let real: ContinuousClock.Instant
  let virtual: MonotonicTime?  // nil: it was not made in virtual time

  /// The present time of the caller.
  public static var now: Deadline {
    Deadline(real: ContinuousClock.now, virtual: SharedPool.surroundingTime?.target.now)
  }

  /// Returns the instant `duration` later, or earlier if it is negative.
  public func advanced(by duration: Duration) -> Deadline {
    let most = Duration.seconds(Int64.max)  // more could overflow
    let duration = min(max(duration, .zero - most), most)
    return Deadline(real: real.advanced(by: duration), virtual: virtual?.advanced(by: duration))
  }

  /// Returns the time from this instant to `other`, negative if `other` is earlier: of the virtual time, if both are
  /// its instants.
  public func duration(to other: Deadline) -> Duration {
    if let virtual, let others = other.virtual { return virtual.duration(to: others) }
    return real.duration(to: other.real)
  }

  public static func < (left: Deadline, right: Deadline) -> Bool { left.duration(to: right) > .zero }
  public static func == (left: Deadline, right: Deadline) -> Bool {
    left.virtual == right.virtual && (left.virtual != nil || left.real == right.real)
  }
  public func hash(into hasher: inout Hasher) {
    if let virtual { hasher.combine(virtual) } else { hasher.combine(real) }
  }

  // Without them, `.now + .seconds(2)` is an instant of `ContinuousClock`, which has operators of its own.
  public static func + (deadline: Deadline, duration: Duration) -> Deadline { deadline.advanced(by: duration) }
  public static func - (deadline: Deadline, duration: Duration) -> Deadline {
    deadline.advanced(by: duration.negated)
  }
}

/// The clock of a `Deadline`. In virtual time, that time's clock replaces it.
struct DeadlineClock: Clock {
  var now: Deadline { .now }
  var minimumResolution: Duration { ContinuousClock().minimumResolution }

  func sleep(until deadline: Deadline, tolerance: Duration?) async throws {
    try await ContinuousClock().sleep(until: deadline.real, tolerance: tolerance)
  }
}
