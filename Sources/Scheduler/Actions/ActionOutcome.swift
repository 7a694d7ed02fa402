internal import CScheduler

/// The outcome of a submitted action: it ran, was disposed, or was dropped. The action and its disposable share this object.
package final class ActionOutcome: Sendable {
  /// The events that are reported to `note`. A drop is reported to `onDrop` instead.
  package enum Event: Sendable { case ran, disposed }

  private enum Phase {
    case open  // the action may start or be disposed
    case running, disposed
    case over  // the action has run or was dropped
  }

  private struct State {
    var phase = Phase.open
    var isSubmitted = false  // the submission has returned
    /// The submission ran inside the drop of another action. If the scheduler refused, this action's drop may come after the submission returned.
    var isSubmittedInDrop = false
    /// Called on a drop. Nil when a drop is no longer possible.
    var onDrop: (@Sendable (SchedulerError) -> Void)?
  }

  private let state: Protected<State>
  let note: @Sendable (Event) -> Void  // receives each event

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

  /// Called when the submission has returned.
  func endSubmission() {
    let isInDrop = csched_swift_is_in_drop_()
    state.withLock { ($0.isSubmitted, $0.isSubmittedInDrop) = (true, isInDrop) }
  }

  /// Returns whether the action may start. If so, reports `.ran`.
  func claimRun() -> Bool {
    guard claim(.running) else { return false }
    note(.ran)
    return true
  }

  /// Returns whether the disposal came before the start. If so, the caller reports `.disposed` after the action has been released.
  func claimDisposal() -> Bool { claim(.disposed) }

  /// Sets `phase` if the action is open. Returns whether the action was open: either the start or the disposal wins, never both.
  private func claim(_ phase: Phase) -> Bool {
    var needless: (@Sendable (SchedulerError) -> Void)?  // released outside the lock
    return state.withLock { state in
      guard state.phase == .open else { return false }
      state.phase = phase
      swap(&needless, &state.onDrop)  // the action can no longer be dropped
      return true
    }
  }

  /// Called when the run has ended, and when the scheduler has released the action. If the action neither ran nor was disposed, reports a drop:
  /// `.refused` if `schedule` itself dropped the action, else `.stopped`.
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

/// Runs the action. Only the closure given to the scheduler retains this object, so its deinit means that the action has run or was dropped.
package final class ReportingAction: Sendable {
  private let outcome: ActionOutcome

  package init(_ outcome: ActionOutcome) { self.outcome = outcome }

  deinit { outcome.end() }

  /// Calls `body`, unless the action has been disposed.
  package func run(_ body: () -> Void) {
    guard outcome.claimRun() else { return }
    withRefusalLine(body)  // refusals of submissions that `body` makes are printed again
    outcome.end()
  }
}

/// Disposes the action, and reports `.disposed` if the action had not started.
final class ReportingDisposable: DisposalNode {
  private let counted = CountedDisposable()  // for the diagnostic count of disposables
  private let outcome: ActionOutcome
  private let disposed = Protected(false)
  // Set until deinit, also after the disposal, so that every `disposeAndWait` can wait for the action.
  nonisolated(unsafe) private var inner: (any Disposable)?

  init(_ disposable: any Disposable, _ outcome: ActionOutcome) {
    self.outcome = outcome
    inner = disposable
  }

  deinit {
    if disposed.read() { return }  // a DisposalWalk has its own reference to `inner`
    DisposalWalk.release { walk in  // frees a chain of any length without recursion
      if let inner = inner.take() { walk.push(inner) }
    }
  }

  var isDisposed: Bool { disposed.read() || outcome.isOver }

  func dispose() { DisposalWalk.dispose(self) }

  package func detachChildren(into walk: inout DisposalWalk) {
    guard let inner else { return }
    disposed.write(true)
    // the action has started or is over: nothing to report
    guard outcome.claimDisposal() else { return walk.push(inner) }
    // the walk reports after it disposed `inner`
    walk.push(inner, AnonymousDisposable { [outcome] in outcome.note(.disposed) })
  }
}
