public import Foundation
public import Scheduler
public import SchedulerRx

extension EventSource {
  /// Returns this source as one to wait for, with RxBlocking's timeout.
  ///
  /// - Parameters:
  ///   - timeout: how long each wait may take, in seconds; for ever, where that is more than the clock can hold, or no number.
  ///   - scheduler: what the source needs in order to end, if you know it: see `toBlocking(timeout:needing:)` of `SchedulerRx`.
  public func toBlocking(timeout: TimeInterval, needing scheduler: SchedulerTarget? = nil)
    -> BlockingObservable<Element>
  {
    toBlocking(timeout: .held(seconds: timeout), needing: scheduler)
  }
}

extension AsyncSequence where Self: Sendable, Element: Sendable {
  /// Returns this sequence as one to wait for, with RxBlocking's timeout.
  ///
  /// - Parameters:
  ///   - timeout: how long each wait may take, in seconds; for ever, where that is more than the clock can hold, or no number.
  ///   - scheduler: what the sequence needs in order to end, if you know it: see `toBlocking(timeout:needing:)` of `Scheduler`.
  public func toBlocking(timeout: TimeInterval, needing scheduler: SchedulerTarget? = nil)
    -> BlockingObservable<Element>
  {
    toBlocking(timeout: .held(seconds: timeout), needing: scheduler)
  }
}
