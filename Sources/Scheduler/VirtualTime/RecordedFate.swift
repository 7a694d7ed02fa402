/// What becomes of an action that a ``RecordingScheduler`` has handed on: known to the action and to its disposable.
final class RecordedFate: Sendable {
  private enum Phase {
    /// It may begin, or be disposed.
    case open
    case running, disposed
    /// It has run, or was dropped.
    case over
  }

  private let phase = Protected(Phase.open)
  let write: @Sendable (RecordedEvent.Kind) -> Void

  init(write: @escaping @Sendable (RecordedEvent.Kind) -> Void) { self.write = write }

  /// Whether it is disposed or over.
  var isOver: Bool { phase.read { $0 == .disposed || $0 == .over } }

  /// Decides whether the action begins, which is then written down.
  func claimRun() -> Bool {
    guard phase.transition(to: .running, if: { $0 == .open }) else { return false }
    write(.ran)
    return true
  }

  /// Decides whether it is disposed before it begins. That is to be written down when the action has been let go of.
  func claimDisposal() -> Bool { phase.transition(to: .disposed, if: { $0 == .open }) }

  /// Its run has ended, or it was dropped.
  func end() { _ = phase.transition(to: .over) { $0 != .disposed } }
}

/// What the scheduler's closure alone holds of such an action: it ends with it, run or dropped.
final class RecordedAction: Sendable {
  private let fate: RecordedFate

  init(_ fate: RecordedFate) { self.fate = fate }

  deinit { fate.end() }

  /// Calls `body`, unless it has been disposed before.
  @discardableResult
  func run<Result>(_ body: () -> Result) -> Result? {
    guard fate.claimRun() else { return nil }
    defer { fate.end() }
    return body()
  }
}

/// Disposes such an action, and writes it down if that was before it began.
final class RecordedDisposable: DisposalNode {
  private let counted = CountedDisposable()
  private let fate: RecordedFate
  private let disposed = Protected(false)
  // Held beyond the disposal, so that each of those who dispose and wait finds what to wait for. It is taken by deinit alone.
  nonisolated(unsafe) private var inner: (any Disposable)?

  init(_ disposable: any Disposable, _ fate: RecordedFate) {
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

  func detachChildren(into walk: inout DisposalWalk) {
    guard let inner else { return }
    disposed.write(true)
    guard fate.claimDisposal() else { return walk.push(inner) }
    walk.push(inner, AnonymousDisposable { [fate] in fate.write(.disposed) })
  }
}
