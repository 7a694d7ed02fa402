public import Dispatch
internal import Scheduler

extension Duration {
  /// Creates the same length. `.never`, and unknown kinds of intervals, give the maximum of 292 years.
  public init(_ interval: DispatchTimeInterval) {
    switch interval {
    case .seconds(let count): self = .seconds(count)
    case .milliseconds(let count): self = .milliseconds(count)
    case .microseconds(let count): self = .microseconds(count)
    case .nanoseconds(let count): self = .nanoseconds(count)
    default: self = .nanoseconds(Int64.max)  // 292 years, which clocks take as never
    }
  }
}

extension DispatchTimeInterval {
  /// Creates the same length, rounded up to nanoseconds; `.never` from 292 years on.
  public init(_ duration: Duration) {
    let nanoseconds = duration.saturatedNanoseconds
    self = nanoseconds == .max ? .never : .nanoseconds(Int(nanoseconds))  // max: 292 years or more
  }
}
