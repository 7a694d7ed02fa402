/// How long to wait before each repetition of what has failed: of
/// ``withRetries(_:backoff:deadline:isolation:while:_:)``, and of a publisher's `retry`.
public struct Backoff: Sendable {
  private let delay: @Sendable (_ attempt: Int) -> Duration

  /// Creates a backoff from a closure.
  ///
  /// - Parameter delay: returns the time to wait. Called with 1 before the first repetition, then with 2, and so on, on
  ///   any thread.
  public init(_ delay: @escaping @Sendable (_ attempt: Int) -> Duration) { self.delay = delay }

  /// Returns a backoff that waits `delay` before each repetition.
  public static func constant(_ delay: Duration) -> Backoff { Backoff { _ in delay } }

  /// Returns a backoff that waits `first` before the first repetition, and `factor` times longer before each further
  /// one.
  ///
  /// - Parameters:
  ///   - first: the time before the first repetition.
  ///   - factor: 1 or more; smaller values and NaN count as 1.
  ///   - limit: the longest time.
  ///   - jitter: the random share of each time, from 0 to 1, so that clients that failed together do not retry
  ///     together. With 0.5 each time is between half of it and all of it.
  public static func exponential(
    first: Duration, factor: Double = 2, limit: Duration = .seconds(60), jitter: Double = 0
  ) -> Backoff {
    // In seconds, as Double: a Duration would trap at an overflow. The comparisons are false for NaN, which gives the
    // default.
    let longest = limit / .seconds(1), start = first / .seconds(1), factor = factor > 1 ? factor : 1
    let share = jitter > 0 ? min(jitter, 1) : 0
    return Backoff { attempt in
      // further: multiplications to do
      var seconds = min(start, longest), further = factor > 1 && start > 0 ? attempt - 1 : 0
      while further > 0, seconds < longest { (seconds, further) = (min(seconds * factor, longest), further - 1) }
      return .seconds(seconds * (1 - share * Double.random(in: 0...1)))  // shortened by a random part of `share`
    }
  }

  /// Returns the time to wait before a repetition.
  ///
  /// - Parameter attempt: 1 for the first repetition, then 2, and so on.
  public func delay(beforeAttempt attempt: Int) -> Duration { delay(attempt) }
}
