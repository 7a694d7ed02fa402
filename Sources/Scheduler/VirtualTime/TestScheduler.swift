/// Virtual time in nanoseconds: whatever takes a ``SchedulerType`` can be tested on it, in no time and without chance.
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
  /// Creates one.
  ///
  /// - Parameters:
  ///   - initialClock: where its clock stands.
  ///   - actionLimit: see ``VirtualTimeScheduler/actionLimit``.
  public convenience init(
    initialClock: MonotonicTime = MonotonicTime(nanoseconds: 0), actionLimit: Int = 1 << 21
  ) {
    self.init(initialClock: initialClock, scale: MonotonicScale(), actionLimit: actionLimit)
  }
}
