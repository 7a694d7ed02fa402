internal import CScheduler

/// The outcome of a submitted action: it ran, was disposed, or was dropped. The action and its disposable share this
/// object.
package final class ActionOutcome: Sendable {
  /// The events that are reported to `note`. A drop is reported to `onDrop` instead.
  package enum Event: Sendable { case ran, disposed }

  private enum Phase {
    case open  // the action waits: it may start, be disposed or be dropped
    case running, disposed
    case over  // the action has run or was dropped
  }

  private struct State {
    var phase = Phase.open
    var isSubmitted = false  // `endSubmission` was called: a later drop counts as a stop
    /// The submission ran inside the drop of another action. Inside a drop, a thread defers other drops. So a refused
    /// action is dropped only after `endSubmission`, and `isSubmitted` does not show the refusal.
    var isSubmittedInDrop = false
    var members = ListedMembers()  // of groups
    // called on a drop; nil once the action has started, was disposed or was dropped
    var onDrop: (@Sendable (SchedulerError) -> Void)?
  }

  private let state: Protected<State>
  let note: @Sendable (Event) -> Void  // called at the run or at the disposal

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

  /// Called when the submission has returned and the scheduler still holds the action. A later drop is reported as
  /// `.stopped`, not `.refused`. `members`: what the submission has made the action in groups, whose cancellation
  /// disposes it.
  func endSubmission(of members: ListedMembers) {
    let isInDrop = csched_swift_is_in_drop_()
    state.withLock { ($0.isSubmitted, $0.isSubmittedInDrop, $0.members) = (true, isInDrop, members) }
  }

  /// Called before the action starts. Returns false if it was disposed; otherwise reports `.ran` and returns true.
  func claimRun() -> Bool {
    guard claim(.running) else { return false }
    note(.ran)
    return true
  }

  /// Returns whether the disposal came before the start. If so, the caller reports `.disposed` after the action has
  /// been released.
  func claimDisposal() -> Bool { claim(.disposed) }

  /// Sets `phase` if the action is open. Returns whether the action was open: either the start or the disposal wins,
  /// never both.
  private func claim(_ phase: Phase) -> Bool {
    var oldHandler: (@Sendable (SchedulerError) -> Void)?  // takes `onDrop`, to release it outside the lock
    return state.withLock { state in
      guard state.phase == .open else { return false }
      state.phase = phase
      swap(&oldHandler, &state.onDrop)  // no drop is reported after a start or a disposal
      return true
    }
  }

  /// Called when the run has ended, and when the scheduler has released the action. If the action neither ran nor was
  /// disposed, reports a drop: `.refused` if `schedule` itself dropped the action, else `.stopped`. A release by a
  /// group's cancellation counts as a disposal.
  func end() {
    if state.withLock({ $0.phase == .open ? $0.members : nil })?.areCancelled == true { _ = claimDisposal() }
    var why = CSCHED_DROP_STOPPED
    // whether this thread is inside the core's drop of a refused action; false after a run, and in a drop that the core
    // did not make
    let isRefused = csched_swift_drop_reason_(&why) && why == CSCHED_DROP_REFUSED
    let (onDrop, reason) = state.withLock { state in
      if state.phase != .disposed { state.phase = .over }
      return (
        state.onDrop.take(),  // nil if `claim` or an earlier call has taken it: nothing to report
        // dropped after its submission: a stop, except for the deferred drop of a refused action
        state.isSubmitted && !(state.isSubmittedInDrop && isRefused) ? SchedulerError.stopped : .refused
      )
    }
    onDrop?(reason)
  }
}

/// Runs the action and reports its outcome. Only the closure given to the scheduler retains this object, so its deinit
/// means: run, or dropped.
package final class ReportingAction: Sendable {
  private let outcome: ActionOutcome

  package init(_ outcome: ActionOutcome) { self.outcome = outcome }
  deinit { outcome.end() }  // reports a drop, unless the action has run or was disposed

  /// Calls `body`, unless the action has been disposed.
  package func run(_ body: () -> Void) {
    guard outcome.claimRun() else { return }
    // The scheduler may run this action inside a `withoutRefusalLine`. A refusal of a submission by `body` must be
    // printed all the same.
    withRefusalLine(body)
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
    // the DisposalWalk retains `inner`, or has disposed it: its release here does not recurse
    if disposed.read() { return }
    DisposalWalk.release { walk in  // frees a chain of any length without recursion
      if let inner = inner.take() { walk.push(inner) }
    }
  }

  var isDisposed: Bool { disposed.read() || outcome.isOver }
  func dispose() { DisposalWalk.dispose(self) }

  package func detachChildren(into walk: inout DisposalWalk) {
    guard let inner else { return }
    disposed.write(true)
    // false: the action has started or is over, so its disposal is not reported; `inner` is disposed all the same
    guard outcome.claimDisposal() else { return walk.push(inner) }
    // the walk disposes the second child after `inner`: the report comes after the release of the action
    walk.push(inner, AnonymousDisposable { [outcome] in outcome.note(.disposed) })
  }
}
