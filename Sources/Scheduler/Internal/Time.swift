internal import CScheduler

extension Duration {
  /// Nanoseconds, rounded up so that nothing is early, and held at the ends of `Int64`.
  var saturatedNanoseconds: Int64 {
    if self >= .nanoseconds(Int64.max) { return .max }
    if self <= .nanoseconds(Int64.min) { return .min }
    let (seconds, attoseconds) = components  // which would trap further out
    let part = attoseconds / 1_000_000_000 + (attoseconds % 1_000_000_000 > 0 ? 1 : 0)
    return seconds * 1_000_000_000 + part
  }

  /// The moment this long after now on the core's clock; for ever where that would overflow, now where it is negative.
  var deadline: csched_time {
    let span = saturatedNanoseconds
    return span == .max ? csched_time.max : csched_time_after(csched_now(), span)
  }
}
