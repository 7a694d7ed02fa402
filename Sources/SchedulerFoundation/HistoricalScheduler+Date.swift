public import Foundation
public import Scheduler
public import SchedulerRx

/// Virtual time in Foundation's dates, in the words of RxSwift.
extension VirtualTimeScheduler where Instant == HistoricalDate {
  /// Makes one whose clock stands at `initialClock`.
  public convenience init(initialClock: Date) { self.init(initialDate: HistoricalDate(initialClock)) }

  /// The present, in virtual time.
  public var date: Date { Date(virtualTime) }

  /// Moves the clock to `date`, and runs on the way what becomes due.
  public func advanceTo(_ date: Date) { advance(to: HistoricalDate(date)) }

  /// Schedules `action` for `date`, or for now where that is in the past.
  @discardableResult
  public func scheduleAbsoluteVirtual<State: Sendable>(
    _ state: State, time date: Date, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Disposable { schedule(state, at: HistoricalDate(date), action: action) }

  /// Schedules `action` for so many seconds of virtual time from now; for now, where that is not positive.
  @discardableResult
  public func scheduleRelativeVirtual<State: Sendable>(
    _ state: State, dueTime seconds: TimeInterval, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Disposable { schedule(state, after: .held(seconds: seconds), action: action) }
}
