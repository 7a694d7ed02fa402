public import Foundation
public import Scheduler

extension AsyncSequence where Self: Sendable, Element: Sendable {
  /// Returns a view of this sequence that synchronous code can wait for, with RxBlocking's timeout.
  ///
  /// - Parameters:
  ///   - timeout: how long each wait may take, in seconds. A value beyond the clock's range, or NaN, means no timeout.
  ///   - scheduler: the scheduler that the sequence needs in order to end, if you know it: see
  ///     `toBlocking(timeout:needing:)` of `Scheduler`.
  public func toBlocking(timeout: TimeInterval, needing scheduler: SchedulerTarget? = nil)
    -> BlockingObservable<Element>
  {
    toBlocking(timeout: .held(seconds: timeout), needing: scheduler)  // held: clamped
  }
}
