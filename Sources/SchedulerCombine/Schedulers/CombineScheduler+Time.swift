#if Combine
  #if canImport(Combine)
    public import Combine
  #else
    public import OpenCombine
  #endif
  public import Scheduler

  extension CombineScheduler {
    /// An instant on the scheduler's own clock.
    public struct SchedulerTimeType: Strideable, Hashable, Sendable {
      /// The same instant, as a value of the scheduler's `now`.
      public let time: MonotonicTime

      /// Creates the instant `time`.
      public init(_ time: MonotonicTime) { self.time = time }

      /// Returns the time from this instant to `other`; negative if `other` is earlier.
      public func distance(to other: Self) -> Stride { Stride(time.duration(to: other.time)) }

      /// Returns the instant `stride` later, or earlier if it is negative, clamped to the clock's range.
      public func advanced(by stride: Stride) -> Self { Self(time.advanced(by: stride.duration)) }

      public static func < (left: Self, right: Self) -> Bool { left.time < right.time }
    }
  }

  extension CombineScheduler.SchedulerTimeType {
    /// A length of time, in nanoseconds. A literal counts seconds, like that of Dispatch's stride.
    ///
    /// Arithmetic does not overflow: lengths are clamped at 292 years. An action after the longest length never runs.
    public struct Stride: Comparable, Hashable, Sendable, SignedNumeric, SchedulerTimeIntervalConvertible {
      /// The length in nanoseconds.
      public let nanoseconds: Int64

      init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

      /// Creates a stride as long as `duration`, rounded up to nanoseconds.
      public init(_ duration: Duration) { nanoseconds = duration.saturatedNanoseconds }

      /// The same length as a `Duration`.
      public var duration: Duration { .nanoseconds(nanoseconds) }

      public static func < (left: Self, right: Self) -> Bool { left.nanoseconds < right.nanoseconds }

      // MARK: units
      public static func seconds(_ s: Int) -> Self { Self(s, 1_000_000_000) }
      public static func milliseconds(_ ms: Int) -> Self { Self(ms, 1_000_000) }
      public static func microseconds(_ us: Int) -> Self { Self(us, 1_000) }
      public static func nanoseconds(_ ns: Int) -> Self { Self(ns, 1) }

      /// Returns `s` seconds, rounded up to nanoseconds. NaN gives the longest length, which never ends.
      public static func seconds(_ s: Double) -> Self {
        let nanoseconds = (s * 1e9).rounded(.up)  // Int64 holds -2^63 to below 2^63
        if nanoseconds < -0x1p63 { return Self(nanoseconds: .min) }
        return Self(nanoseconds: nanoseconds < 0x1p63 ? Int64(nanoseconds) : .max)  // NaN: both comparisons are false
      }

      /// Creates a length of `count` units of `unit` nanoseconds, clamped.
      private init(_ count: Int, _ unit: Int64) { nanoseconds = Int64(count).times(unit) }
    }
  }

  extension CombineScheduler.SchedulerTimeType.Stride: ExpressibleByFloatLiteral {
    /// Creates a stride of `seconds` seconds.
    public init(integerLiteral seconds: Int) { self = .seconds(seconds) }

    /// Creates a stride of `seconds` seconds.
    public init(floatLiteral seconds: Double) { self = .seconds(seconds) }

    /// Creates a stride of `seconds` seconds, or nil if that is beyond 292 years.
    public init?<Seconds: BinaryInteger>(exactly seconds: Seconds) {
      // The bound: the nanoseconds must fit in Int64.
      guard let seconds = Int(exactly: seconds), abs(seconds.clamped) < .max / 1_000_000_000 else { return nil }
      self = .seconds(seconds)
    }

    public var magnitude: Self { Self(nanoseconds: nanoseconds == .min ? .max : abs(nanoseconds)) }  // abs(.min) traps

    // A sum or difference that overflows is clamped. The sign of `right` tells at which end.
    public static func + (left: Self, right: Self) -> Self {
      let (sum, hasOverflowed) = left.nanoseconds.addingReportingOverflow(right.nanoseconds)
      return Self(nanoseconds: hasOverflowed ? (right.nanoseconds < 0 ? .min : .max) : sum)
    }

    public static func - (left: Self, right: Self) -> Self {
      let (difference, hasOverflowed) = left.nanoseconds.subtractingReportingOverflow(right.nanoseconds)
      return Self(nanoseconds: hasOverflowed ? (right.nanoseconds < 0 ? .max : .min) : difference)
    }

    /// Returns the product of the two lengths as numbers of seconds: 2 s times 3 s is 6 s.
    public static func * (left: Self, right: Self) -> Self {
      let product = left.nanoseconds.multipliedFullWidth(by: right.nanoseconds), unit: Int64 = 1_000_000_000
      // Square nanoseconds, 128 bits, divided by the unit. The quotient fits in Int64 if the product is below unit *
      // 2^63, so `high` below unit / 2.
      guard abs(product.high.clamped) < unit / 2 else { return Self(nanoseconds: product.high < 0 ? .min : .max) }
      return Self(nanoseconds: unit.dividingFullWidth(product).quotient)
    }

    public static func *= (left: inout Self, right: Self) { left = left * right }
  }

  extension FixedWidthInteger where Self: SignedInteger {
    /// This number, or `.min + 1` for `.min`, for which `abs` would trap.
    fileprivate var clamped: Self { Swift.max(self, .min + 1) }
    /// Returns the product with `factor`, clamped to the range of `Self`. Requires: `factor` is positive.
    fileprivate func times(_ factor: Self) -> Self {
      let (product, hasOverflowed) = multipliedReportingOverflow(by: factor)
      return hasOverflowed ? (self < 0 ? .min : .max) : product
    }
  }
#endif
