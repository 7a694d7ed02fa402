internal import CScheduler

extension Duration {
  /// This duration in nanoseconds, rounded up so that no timer is early, and clamped to the range of `Int64`.
  package var saturatedNanoseconds: Int64 {
    // One division instruction. Rejected: `components`, because it costs several 128-bit divisions (22 of 280 ns for a
    // timer and its cancellation).
    let size = attoseconds.magnitude  // UInt128, split into two words below
    let high = UInt64(truncatingIfNeeded: size >> 64), low = UInt64(truncatingIfNeeded: size)
    let perNanosecond: UInt64 = 1_000_000_000  // attoseconds
    guard high < perNanosecond / 2 else { return self < .zero ? .min : .max }  // the quotient would not fit in Int64
    let (whole, part) = perNanosecond.dividingFullWidth((high, low))  // quotient and remainder
    if self < .zero { return -Int64(clamping: whole) }  // without the remainder: for a negative number this rounds up
    return part == 0 ? Int64(clamping: whole) : Int64(clamping: whole + 1)
  }

  /// This duration with the other sign. Clamped: the least duration has no opposite.
  package var negated: Duration { self < .seconds(Int64.min) ? .seconds(Int64.max) : .zero - self }

  /// Returns a duration of `nanoseconds`, such as the time since a clock's start. It may exceed the range of
  /// `nanoseconds(_:)`, an `Int64`.
  static func sinceStart(_ nanoseconds: UInt64) -> Duration {
    .seconds(nanoseconds / 1_000_000_000) + .nanoseconds(nanoseconds % 1_000_000_000)
  }

  /// Returns a duration of `seconds`. Clamps it where `.seconds` would trap, which is beyond every clock's range. A NaN
  /// gives the longest duration.
  package static func held(seconds: Double) -> Duration {
    if abs(seconds) < 0x1p62 { return .seconds(seconds) }  // `.seconds` of more may trap
    return .seconds(seconds < 0 ? Int64.min : Int64.max)
  }

  /// The instant that is this duration after now, on the C core's monotonic clock: now if negative; on overflow
  /// `csched_time.max`, which never comes.
  var deadline: csched_time {
    let span = saturatedNanoseconds
    return span == .max ? csched_time.max : csched_time_after(csched_now(), span)
  }
}

extension UInt64 {
  /// Returns the instant `duration` after this instant (nanoseconds of any clock), clamped to the range of `UInt64`. A
  /// duration of 292 years or more, the limit of `Int64`, means "never": the result is then the end of the clock
  /// (`.max`), or its start for a negative one.
  func nanoseconds(advancedBy duration: Duration) -> UInt64 {
    let span = duration.saturatedNanoseconds
    if span == .max || span == .min { return span == .max ? .max : .min }  // "never", which the sum below could miss
    let (sum, overflow) =
      span >= 0 ? addingReportingOverflow(span.magnitude) : subtractingReportingOverflow(span.magnitude)
    return overflow ? (span >= 0 ? .max : .min) : sum
  }

  /// Returns the time from this instant (nanoseconds of any clock) to `other`, negative if `other` is earlier; clamped
  /// to 292 years.
  func span(to other: UInt64) -> Duration {
    other >= self ? .nanoseconds(Int64(clamping: other - self)) : .nanoseconds(-Int64(clamping: self - other))
  }
}
