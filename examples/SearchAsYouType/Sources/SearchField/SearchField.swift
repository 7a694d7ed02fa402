public import Scheduler
internal import SchedulerRx  // an action that returns what to dispose

/// Asks what is typed, once the typing has paused. Each keystroke begins the pause anew, and ends the question before:
/// one that still waits is not asked, and one that has been asked is disposed.
public struct SearchField<Text: Sendable>: Sendable {
  private let latest = SerialDisposable()
  private let pause: Duration
  private let scheduler: any SchedulerType
  private let ask: @Sendable (Text) -> any Disposable

  /// - Parameters:
  ///   - pause: how long nothing must be typed before the question is asked.
  ///   - scheduler: what waits, and asks: in a test, a `TestScheduler`.
  ///   - ask: begins the question, and returns what ends it.
  public init(pause: Duration, scheduler: any SchedulerType, ask: @escaping @Sendable (Text) -> any Disposable) {
    self.pause = pause
    self.scheduler = scheduler
    self.ask = ask
  }

  /// Takes what is in the field now.
  public func type(_ text: Text) { latest.replace { scheduler.schedule(text, after: pause, action: ask) } }

  /// Ends the last question, and asks no more.
  public func close() { latest.dispose() }
}
