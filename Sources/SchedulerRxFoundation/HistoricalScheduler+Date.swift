public import Foundation
public import Scheduler
public import SchedulerRx

/// Virtual time in Foundation's dates, with RxSwift's names.
extension VirtualTimeScheduler where Instant == HistoricalDate {
  /// Creates a scheduler whose clock starts at `initialClock`.
  public convenience init(initialClock: Date) { self.init(initialDate: HistoricalDate(initialClock)) }

  /// The current virtual time.
  public var date: Date { Date(virtualTime) }

  /// Moves the clock to `date`, and runs all actions due until then.
  public func advanceTo(_ date: Date) { advance(to: HistoricalDate(date)) }

  /// Schedules `action` for `date`, or for now if `date` is in the past.
  @discardableResult
  public func scheduleAbsoluteVirtual<State: Sendable>(
    _ state: State, time date: Date, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Disposable { schedule(state, at: HistoricalDate(date), action: action) }

  /// Schedules `action` after `seconds` of virtual time; for now, if that is not positive.
  @discardableResult
  public func scheduleRelativeVirtual<State: Sendable>(
    _ state: State, dueTime seconds: TimeInterval, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Disposable { schedule(state, after: .held(seconds: seconds), action: action) }  // held: clamped
}
