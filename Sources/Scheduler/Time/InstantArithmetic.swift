// Arithmetic of instants and durations, as on `ContinuousClock.Instant`. Results are clamped to the range of the clock.

extension MonotonicTime {
  public static func + (instant: Self, duration: Duration) -> Self { instant.advanced(by: duration) }
  public static func - (instant: Self, duration: Duration) -> Self { instant.advanced(by: .zero - duration) }
  public static func - (later: Self, earlier: Self) -> Duration { earlier.duration(to: later) }
  public static func += (instant: inout Self, duration: Duration) { instant = instant + duration }
  public static func -= (instant: inout Self, duration: Duration) { instant = instant - duration }
}

extension WallTime {
  public static func + (instant: Self, duration: Duration) -> Self { instant.advanced(by: duration) }
  public static func - (instant: Self, duration: Duration) -> Self { instant.advanced(by: .zero - duration) }
  public static func - (later: Self, earlier: Self) -> Duration { earlier.duration(to: later) }
  public static func += (instant: inout Self, duration: Duration) { instant = instant + duration }
  public static func -= (instant: inout Self, duration: Duration) { instant = instant - duration }
}
