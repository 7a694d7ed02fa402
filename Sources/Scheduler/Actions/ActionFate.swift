internal import CScheduler

/// What becomes of an action that was handed on: known to the action and to its disposable.
package final class ActionFate: Sendable {
  /// What is noted besides the drop.
  package enum Event: Sendable { case ran, disposed }

  private enum Phase {
    /// It may begin, or be disposed.
    case open
    case running, disposed
    /// It has run, or was dropped.
    case over
  }

  private struct State {
    var phase = Phase.open
    var isSubmitted = false
    /// A refusal may have been put off.
    var isSubmittedInDrop = false
    /// Is told of a drop; goes when there can be none any more.
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

  /// Whether it is disposed or over.
  var isOver: Bool { state.read { $0.phase == .disposed || $0.phase == .over } }

  /// Has `submit` schedule an action, whose fate this is, and returns what cancels it.
  package func token(_ submit: (FatedAction) -> any Disposable) -> any Disposable {
    FatedDisposable(submit(FatedAction(self)), self)
  }

  /// Follows the submission.
  func endSubmission() {
    let isInDrop = csched_swift_discards_are_here_()
    state.withLock { ($0.isSubmitted, $0.isSubmittedInDrop) = (true, isInDrop) }
  }

  /// Decides whether the action begins, which is then noted.
  func claimRun() -> Bool {
    guard claim(.running) else { return false }
    note(.ran)
    return true
  }

  /// Decides whether it is disposed before it begins. That is to be noted when the action has been let go of.
  func claimDisposal() -> Bool { claim(.disposed) }

  private func claim(_ phase: Phase) -> Bool {
    var needless: (@Sendable (SchedulerError) -> Void)?  // it ends outside of the lock
    return state.withLock { state in
      guard state.phase == .open else { return false }
      state.phase = phase
      swap(&needless, &state.onDrop)
      return true
    }
  }

  /// Its run has ended, or it was dropped, which is then told.
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

/// What the scheduler's closure alone holds of such an action: it ends with it, run or dropped.
package final class FatedAction: Sendable {
  private let fate: ActionFate

  package init(_ fate: ActionFate) { self.fate = fate }

  deinit { fate.end() }

  /// Calls `body`, unless it has been disposed before.
  package func run(_ body: () -> Void) {
    guard fate.claimRun() else { return }
    withRefusalLine(body)
    fate.end()
  }
}

/// Disposes such an action, and has it noted if that was before it began.
final class FatedDisposable: DisposalNode {
  private let counted = CountedDisposable()
  private let fate: ActionFate
  private let disposed = Protected(false)
  // Held beyond the disposal, so that each of those who dispose and wait finds what to wait for. It is taken by deinit alone.
  nonisolated(unsafe) private var inner: (any Disposable)?

  init(_ disposable: any Disposable, _ fate: ActionFate) {
    self.fate = fate
    inner = disposable
  }

  deinit {
    if disposed.read() { return }  // a walk that is about to dispose it may be releasing this
    DisposalWalk.release { walk in
      if let inner = inner.take() { walk.push(inner) }
    }
  }

  var isDisposed: Bool { disposed.read() || fate.isOver }

  func dispose() { DisposalWalk.dispose(self) }

  package func detachChildren(into walk: inout DisposalWalk) {
    guard let inner else { return }
    disposed.write(true)
    guard fate.claimDisposal() else { return walk.push(inner) }
    walk.push(inner, AnonymousDisposable { [fate] in fate.note(.disposed) })
  }
}
