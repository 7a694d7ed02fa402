import Scheduler
import ServiceContextModule
import Tracing

/// The span of one action: from its submission to the end of its run, its disposal or its drop, whichever comes first.
/// It has one end.
///
/// | attribute | |
/// |---|---|
/// | `scheduler.name` | of the scheduler below |
/// | `scheduler.queue_time_ms` | from the submission, or the deadline of what is delayed, to the beginning, in milliseconds; not of what never began |
/// | `scheduler.outcome` | `run`, `cancelled`, or `dropped`, which is an error |
final class ActionSpan: Sendable {
  private enum Phase { case waiting, running, over }

  private let phase = Protected(Phase.waiting)
  private let span: any Tracing.Span
  private let queueTime: @Sendable () -> Duration

  init(_ span: any Tracing.Span, queueTime: @escaping @Sendable () -> Duration) {
    (self.span, self.queueTime) = (span, queueTime)
  }

  /// Calls `action` inside of the span; not if it was cancelled before.
  func run<Result>(_ action: () -> Result) -> Result? {
    guard claim(.running) else { return nil }
    let queued = max(.zero, queueTime())
    span.updateAttributes { $0["scheduler.queue_time_ms"] = queued / .milliseconds(1) }
    defer { end("run") }
    return ServiceContext.withValue(span.context, operation: action)
  }

  /// Follows a disposal: if it comes before the run, that never begins.
  func cancel() { if claim(.over) { end("cancelled") } }

  /// The scheduler has released the action without a run.
  func letGo() {
    guard claim(.over) else { return }
    span.setStatus(SpanStatus(code: .error, message: "the scheduler dropped the action"))
    end("dropped")
  }

  private func claim(_ next: Phase) -> Bool {
    phase.withLock { phase in
      guard phase == .waiting else { return false }
      phase = next
      return true
    }
  }

  private func end(_ outcome: String) {
    span.updateAttributes { $0["scheduler.outcome"] = outcome }
    span.end()
  }
}

/// Only the closure that a scheduler is given retains this. So its `deinit` without a run means that the action was
/// dropped: the span ends.
final class SpannedAction: Sendable {
  private let span: ActionSpan
  init(_ span: ActionSpan) { self.span = span }
  deinit { span.letGo() }

  func run<Result>(_ action: () -> Result) -> Result? { span.run(action) }
}

/// What a tracing scheduler returns: it tells the span of the disposal, and hands it on.
final class SpannedDisposable: Disposable {
  private let span: ActionSpan
  private let action: any Disposable

  init(_ action: any Disposable, _ span: ActionSpan) { (self.action, self.span) = (action, span) }

  var isDisposed: Bool { action.isDisposed }

  func dispose() {
    span.cancel()
    action.dispose()
  }

  func disposeAndWait() {
    span.cancel()
    action.disposeAndWait()
  }
}
