public import Scheduler

/// Forwards all work to another scheduler, `base`, and records which actions were scheduled, ran or were disposed.
///
/// 1. Actions have ordinals: 1 for the first scheduled action, and so on. Each event contains the ordinal of its
///    action.
/// 2. `.scheduled` is recorded before the action is forwarded, `.ran` when the action starts. `.disposed` is recorded
///    when a disposal before the start has released the action. An action has one or two events: `.scheduled`, then at
///    most one of `.ran` and `.disposed`. A dropped action has only the first.
/// 3. The time of an event is `now` of `base`, or the monotonic clock's time if `base` has no `now`.
/// 4. The history is in order of occurrence. Any thread may schedule, run and read it.
///
/// ```swift
/// let scheduler = TestScheduler()
/// let recording = RecordingScheduler(scheduler)
/// recording.schedule(after: .seconds(2)) {}
/// scheduler.run()
/// for event in recording.history { print(event) }  // #1 scheduled at 0 ns, #1 ran at 2000000000 ns
/// ```
public final class RecordingScheduler<Base: ImmediateSchedulerType>: ImmediateSchedulerType {
  /// The scheduler that does the work.
  public let base: Base

  private struct Record {
    var events: [RecordedEvent] = []
    var lastOrdinal = 0  // the ordinal of the newest action; 0: none
  }

  private let record = Protected(Record())

  /// Wraps `base`.
  public init(_ base: Base) { self.base = base }

  /// The events so far, in order.
  public var history: [RecordedEvent] { record.read().events }

  /// Clears the history. Ordinals of later actions continue.
  public func clearHistory() {
    let old = record.withLock { record in
      defer { record.events = [] }
      return record.events
    }
    _ = consume old  // freed outside the lock, so that other threads do not wait for it
  }

  @discardableResult
  public func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    scheduleRecorded(nil) { reporting in base.schedule { reporting.run(action) } }
  }

  /// Records `.scheduled`, and calls `submit`, which schedules an action on `base`. That action must call `run` of the
  /// argument of `submit`: `run` records `.ran`. Returns a disposable that disposes the action, and records `.disposed`
  /// if the action had not started. `delay`: for the events.
  private func scheduleRecorded(
    _ delay: Duration?, _ submit: (ReportingAction) -> any Disposable
  ) -> any Disposable {
    let time = presentTime  // read before the lock: it may call user code
    let ordinal = record.withLock {
      $0.lastOrdinal += 1
      $0.events.append(RecordedEvent(kind: .scheduled, time: time, ordinal: $0.lastOrdinal, delay: delay))
      return $0.lastOrdinal
    }
    // Weak: otherwise a waiting action would retain this recorder and `base`. If the recorder is gone, the history
    // cannot be read anyway.
    let outcome = ActionOutcome(note: { [weak self] in self?.append($0 == .ran ? .ran : .disposed, ordinal, delay) })
    return outcome.token(submit)
  }

  /// Appends an event at the present time of `base`.
  private func append(_ kind: RecordedEvent.Kind, _ ordinal: Int, _ delay: Duration?) {
    let time = presentTime
    record.withLock { $0.events.append(RecordedEvent(kind: kind, time: time, ordinal: ordinal, delay: delay)) }
  }

  private var presentTime: MonotonicTime { (base as? any SchedulerType)?.now ?? .now }  // .now: the monotonic clock's
}

extension RecordingScheduler: SchedulerType where Base: SchedulerType {
  public var now: MonotonicTime { base.now }

  /// Forwards `action` with its timing. Its events contain the delay until it is due, at least zero. Each periodic tick
  /// is a separate action.
  ///
  /// - Parameters:
  ///   - timing: when to run the action.
  ///   - action: the closure to run.
  @discardableResult
  public func schedule(_ timing: ActionTiming, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    // For each tick of a periodic action this function is called again with a delay, and records the tick.
    if timing.period != nil { return timing.scheduleTicks(on: self, action) }
    return scheduleRecorded(max(.zero, timing.delay(from: now))) { reporting in
      base.schedule(timing) { reporting.run(action) }
    }
  }
}

extension RecordingScheduler: CustomDebugStringConvertible {
  public var debugDescription: String { "RecordingScheduler of \(String(reflecting: base)), \(history.count) events" }
}

/// One entry of the history of a ``RecordingScheduler``.
public struct RecordedEvent: Hashable, Sendable, CustomStringConvertible {
  /// What happened to an action.
  public enum Kind: Hashable, Sendable {
    /// The action was scheduled.
    case scheduled
    /// The action started.
    case ran
    /// The action was disposed before it started.
    case disposed
  }

  /// What happened to the action.
  public let kind: Kind
  /// When it happened, on the scheduler's clock.
  public let time: MonotonicTime
  /// The number of the action: 1 for the first scheduled one.
  public let ordinal: Int
  /// The delay of the action; `nil` if it was scheduled without a timing.
  public let delay: Duration?

  /// Creates an event to compare a history with.
  ///
  /// - Parameters:
  ///   - kind: what happened.
  ///   - time: when it happened.
  ///   - ordinal: the number of the action: 1 for the first.
  ///   - delay: the delay of the action; `nil` if it was scheduled without a timing.
  public init(kind: Kind, time: MonotonicTime, ordinal: Int, delay: Duration? = nil) {
    self.kind = kind
    self.time = time
    self.ordinal = ordinal
    self.delay = delay
  }

  public var description: String { "#\(ordinal) \(kind) at \(time.nanoseconds) ns" }
}
