internal import CScheduler

/// The outcome of a submitted action: it ran, was disposed, or was dropped. Shared by the action and its disposable.
package final class ActionOutcome: Sendable {
  /// Events that are reported through `note`. A drop is reported through `onDrop`.
  package enum Event: Sendable { case ran, disposed }

  private enum Phase {
    /// The action may start or be disposed.
    case open
    case running, disposed
    /// The action has run or was dropped.
    case over
  }

  private struct State {
    var phase = Phase.open
    var isSubmitted = false
    /// The submission ran inside a drop, so a refusal may have been deferred.
    var isSubmittedInDrop = false
    /// Called on a drop. Cleared when a drop is no longer possible.
    var onDrop: (@Sendable (SchedulerError) -> Void)?
  }

  private let state: Protected<State>
  let note: @Sendable (Event) -> Void

  package init(
    onDrop: (@Sendable (SchedulerError) -> Void)? = nil, note: @escaping @Sendable (Event) -> Void = { _ in }
  ) {
    self.note = note
    state = Protected(State(onDrop: onDrop))
  }

  /// Whether the action is disposed or over.
  var isOver: Bool { state.read { $0.phase == .disposed || $0.phase == .over } }

  /// Calls `submit` to schedule an action with this outcome. Returns the disposable that cancels the action.
  package func token(_ submit: (ReportingAction) -> any Disposable) -> any Disposable {
    ReportingDisposable(submit(ReportingAction(self)), self)
  }

  /// Called after the submission.
  func endSubmission() {
    let isInDrop = csched_swift_is_in_drop_()
    state.withLock { ($0.isSubmitted, $0.isSubmittedInDrop) = (true, isInDrop) }
  }

  /// Returns whether the action may start. If so, notes `.ran`.
  func claimRun() -> Bool {
    guard claim(.running) else { return false }
    note(.ran)
    return true
  }

  /// Returns whether the action was disposed before it started. The caller notes `.disposed` after the action has been released.
  func claimDisposal() -> Bool { claim(.disposed) }

  private func claim(_ phase: Phase) -> Bool {
    var needless: (@Sendable (SchedulerError) -> Void)?  // released outside the lock
    return state.withLock { state in
      guard state.phase == .open else { return false }
      state.phase = phase
      swap(&needless, &state.onDrop)
      return true
    }
  }

  /// Called when the run has ended or the action was dropped. Reports a drop to `onDrop`.
  func end() {
    var why = CSCHED_DROP_STOPPED
    let isRefused = csched_swift_discards_reason_(&why) && why == CSCHED_DROP_REFUSED
    let (onDrop, reason) = state.withLock { state in
      if state.phase != .disposed { state.phase = .over }
      return (
        state.onDrop.take(),
        state.isSubmitted && !(state.isSubmittedInDrop && isRefused) ? SchedulerError.stopped : .refused
      )
    }
    onDrop?(reason)
  }
}

/// The part of the action that only the scheduler's closure holds. Its release ends the action, run or dropped.
package final class ReportingAction: Sendable {
  private let outcome: ActionOutcome

  package init(_ outcome: ActionOutcome) { self.outcome = outcome }

  deinit { outcome.end() }

  /// Calls `body`, unless the action has been disposed.
  package func run(_ body: () -> Void) {
    guard outcome.claimRun() else { return }
    withRefusalLine(body)
    outcome.end()
  }
}

/// Disposes the action, and notes `.disposed` if the action had not started.
final class ReportingDisposable: DisposalNode {
  private let counted = CountedDisposable()
  private let outcome: ActionOutcome
  private let disposed = Protected(false)
  // Kept after the disposal, so that every `disposeAndWait` finds the action to wait for. Only deinit takes it.
  nonisolated(unsafe) private var inner: (any Disposable)?

  init(_ disposable: any Disposable, _ outcome: ActionOutcome) {
    self.outcome = outcome
    inner = disposable
  }

  deinit {
    if disposed.read() { return }  // a walk that is about to dispose `inner` may be releasing this object
    DisposalWalk.release { walk in
      if let inner = inner.take() { walk.push(inner) }
    }
  }

  var isDisposed: Bool { disposed.read() || outcome.isOver }

  func dispose() { DisposalWalk.dispose(self) }

  package func detachChildren(into walk: inout DisposalWalk) {
    guard let inner else { return }
    disposed.write(true)
    guard outcome.claimDisposal() else { return walk.push(inner) }
    walk.push(inner, AnonymousDisposable { [outcome] in outcome.note(.disposed) })
  }
}
