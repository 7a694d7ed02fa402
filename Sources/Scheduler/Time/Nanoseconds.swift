internal import CScheduler

extension Duration {
  /// Nanoseconds, rounded up so that no timer is early, and clamped to the range of `Int64`.
  package var saturatedNanoseconds: Int64 {
    // One division instruction. Rejected: `components`, because it costs several 128-bit divisions (22 of 280 ns for a timer and its cancellation).
    let size = attoseconds.magnitude
    let high = UInt64(truncatingIfNeeded: size >> 64), low = UInt64(truncatingIfNeeded: size)
    let perNanosecond: UInt64 = 1_000_000_000
    guard high < perNanosecond / 2 else { return self < .zero ? .min : .max }  // below, the quotient fits Int64
    let (whole, part) = perNanosecond.dividingFullWidth((high, low))
    if self < .zero { return -Int64(clamping: whole) }
    return part == 0 ? Int64(clamping: whole) : Int64(clamping: whole + 1)
  }

  /// Returns a duration of that many nanoseconds, which may exceed the range of `nanoseconds(_:)`.
  static func sinceStart(_ nanoseconds: UInt64) -> Duration {
    .seconds(nanoseconds / 1_000_000_000) + .nanoseconds(nanoseconds % 1_000_000_000)
  }

  /// Returns a duration of that many seconds, clamped to the range of every clock; a NaN gives the longest duration.
  package static func held(seconds: Double) -> Duration {
    if abs(seconds) < 0x1p62 { return .seconds(seconds) }  // `.seconds` of more may trap
    return .seconds(seconds < 0 ? Int64.min : Int64.max)
  }

  /// The instant this long after now on the C core's clock. If the sum overflows: `csched_time.max`, which never comes. If negative: now.
  var deadline: csched_time {
    let span = saturatedNanoseconds
    return span == .max ? csched_time.max : csched_time_after(csched_now(), span)
  }
}

extension UInt64 {
  /// These nanoseconds plus `duration`, clamped. A duration of 292 years, the limit of `Int64`, means "never": the result is the end of the
  /// clock from any instant.
  func nanoseconds(advancedBy duration: Duration) -> UInt64 {
    let span = duration.saturatedNanoseconds
    if span == .max || span == .min { return span == .max ? .max : .min }
    let (sum, overflow) =
      span >= 0 ? addingReportingOverflow(span.magnitude) : subtractingReportingOverflow(span.magnitude)
    return overflow ? (span >= 0 ? .max : .min) : sum
  }

  /// The time from this many nanoseconds to `other`, negative if `other` is less.
  func span(to other: UInt64) -> Duration {
    other >= self ? .nanoseconds(Int64(clamping: other - self)) : .nanoseconds(-Int64(clamping: self - other))
  }
}
