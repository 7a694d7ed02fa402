/// A scheduler with virtual time in nanoseconds. Use it to test code that takes a ``SchedulerType``, without delays and with repeatable results.
///
/// ```swift
/// let scheduler = TestScheduler()
/// let ticks = Protected(0)
/// let ticking = scheduler.schedule(.every(.seconds(1))) { ticks.wrappedValue += 1 }
/// scheduler.advance(by: .seconds(60))
/// ticking.dispose()
/// print(ticks.read(), scheduler.now.nanoseconds)  // 60 60000000000
/// ```
public typealias TestScheduler = VirtualTimeScheduler<MonotonicTime>

extension VirtualTimeScheduler where Instant == MonotonicTime {
  /// Creates a scheduler.
  ///
  /// - Parameters:
  ///   - initialClock: the clock's first instant.
  ///   - actionLimit: see ``VirtualTimeScheduler/actionLimit``.
  public convenience init(
    initialClock: MonotonicTime = MonotonicTime(nanoseconds: 0), actionLimit: Int = 1 << 21
  ) {
    self.init(initialClock: initialClock, scale: MonotonicScale(), actionLimit: actionLimit)
  }
}
