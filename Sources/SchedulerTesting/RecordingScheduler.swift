public import Scheduler

/// Hands all work on to another scheduler, and keeps a history of what was scheduled, what ran and what was disposed.
///
/// 1. Each action has an ordinal: 1 for the first that was scheduled, and so on. Its events bear it.
/// 2. `.scheduled` is written before the action is handed on, `.ran` as it begins, `.disposed` when a disposal that comes before
///    has let go of it. So one action has one or two events, and never both `.ran` and `.disposed`: the recorder decides between them, and
///    calls no action that it has found disposed.
/// 3. The time of an event is the other scheduler's `now`; the monotonic clock's, if that scheduler has none.
/// 4. The history is in the order in which it happened. Any thread may schedule, run and look.
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
    var last = 0
  }

  private let record = Protected(Record())

  /// Wraps `base`.
  public init(_ base: Base) { self.base = base }

  /// What has happened so far, in order.
  public var history: [RecordedEvent] { record.read().events }

  /// Forgets what has happened so far. The ordinals go on.
  public func clearHistory() {
    let old = record.withLock { record in
      defer { record.events = [] }
      return record.events
    }
    _ = consume old
  }

  @discardableResult
  public func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    recorded(nil) { recorded in base.schedule { recorded.run(action) } }
  }

  /// Writes down that something is scheduled, has `submit` do it, and returns what disposes it and writes that down.
  private func recorded(
    _ delay: Duration?, _ submit: (FatedAction) -> any Disposable
  ) -> any Disposable {
    let time = present
    let ordinal = record.withLock {
      $0.last += 1
      $0.events.append(RecordedEvent(kind: .scheduled, time: time, ordinal: $0.last, delay: delay))
      return $0.last
    }
    // Weak, or an action that waits would keep the scheduler that it waits in. Without a recorder nobody can see the history.
    let fate = ActionFate(note: { [weak self] in self?.write($0 == .ran ? .ran : .disposed, ordinal, delay) })
    return fate.token(submit)
  }

  private func write(_ kind: RecordedEvent.Kind, _ ordinal: Int, _ delay: Duration?) {
    let time = present
    record.withLock { $0.events.append(RecordedEvent(kind: kind, time: time, ordinal: ordinal, delay: delay)) }
  }

  private var present: MonotonicTime { (base as? any SchedulerType)?.now ?? .now }
}

extension RecordingScheduler: SchedulerType where Base: SchedulerType {
  public var now: MonotonicTime { base.now }

  /// Hands `action` on with its timing. Its events bear the delay until then, zero where that has passed. The ticks of a periodic action are
  /// actions of their own.
  ///
  /// - Parameters:
  ///   - timing: when it runs.
  ///   - action: what to run.
  @discardableResult
  public func schedule(_ timing: ActionTiming, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    // Each tick comes here again, with a delay.
    if timing.period != nil {
      return timing.schedule(on: self, action) { base.schedule(.after($0, tolerance: $1), $2) }
    }
    return recorded(max(.zero, timing.delay(from: now))) { recorded in base.schedule(timing) { recorded.run(action) } }
  }
}

extension RecordingScheduler: CustomDebugStringConvertible {
  public var debugDescription: String {
    "RecordingScheduler of \(String(reflecting: base)), \(history.count) events"
  }
}
