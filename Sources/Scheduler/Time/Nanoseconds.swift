internal import CScheduler

extension Duration {
  /// Nanoseconds, rounded up so that nothing is early, and held at the ends of `Int64`.
  package var saturatedNanoseconds: Int64 {
    // By one division of the processor's; `components` takes several of 128 bits (22 of 280 ns for a timer and its cancellation).
    let size = attoseconds.magnitude
    let high = UInt64(truncatingIfNeeded: size >> 64), low = UInt64(truncatingIfNeeded: size)
    let perNanosecond: UInt64 = 1_000_000_000
    guard high < perNanosecond / 2 else { return self < .zero ? .min : .max }
    let (whole, part) = perNanosecond.dividingFullWidth((high, low))
    if self < .zero { return -Int64(clamping: whole) }
    return part == 0 ? Int64(clamping: whole) : Int64(clamping: whole + 1)
  }

  /// So many nanoseconds, more than `nanoseconds(_:)` takes.
  static func sinceStart(_ nanoseconds: UInt64) -> Duration {
    .seconds(nanoseconds / 1_000_000_000) + .nanoseconds(nanoseconds % 1_000_000_000)
  }

  /// So many seconds; for ever, where that is more than any clock can hold, or not a number.
  package static func held(seconds: Double) -> Duration {
    if abs(seconds) < 0x1p62 { return .seconds(seconds) }
    return .seconds(seconds < 0 ? Int64.min : Int64.max)
  }

  /// The instant this long after now on the core's clock; for ever where that would overflow, now where it is negative.
  var deadline: csched_time {
    let span = saturatedNanoseconds
    return span == .max ? csched_time.max : csched_time_after(csched_now(), span)
  }
}

extension UInt64 {
  /// This many nanoseconds and `duration`, held at the ends; a duration of 292 years, which is in use for "never", leads there from
  /// anywhere.
  func nanoseconds(advancedBy duration: Duration) -> UInt64 {
    let span = duration.saturatedNanoseconds
    if span == .max || span == .min { return span == .max ? .max : .min }
    let (sum, overflow) =
      span >= 0 ? addingReportingOverflow(span.magnitude) : subtractingReportingOverflow(span.magnitude)
    return overflow ? (span >= 0 ? .max : .min) : sum
  }

  /// From this many nanoseconds to `other`, negative when that is less.
  func span(to other: UInt64) -> Duration {
    other >= self ? .nanoseconds(Int64(clamping: other - self)) : .nanoseconds(-Int64(clamping: self - other))
  }
}
