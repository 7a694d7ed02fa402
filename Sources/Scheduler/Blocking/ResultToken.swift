// The token that cancels an action of a ResultGroup.
//
// States of `isOver`: false; then true, which is final, from a disposal or the end of the run.
// Invariants
//   RT1  A thread that reads `isOver` as true sees everything before the disposal, or everything that the run did.
// Orderings: isOver: release when it is set, acquire when it is read.
// Assumes: `follow` is called before another thread has the token.
// Models: swift/groups/groups.swift.

internal import Synchronization

/// Cancels an action of a ``ResultGroup``. It does not retain the member, because the member's release reports a drop.
final class ResultToken: Disposable {
  private let counted = CountedDisposable()  // for the diagnostic count of disposables
  private let isOver = Atomic(false)
  /// The disposable of the scheduled action. Written once, before another thread has the token.
  nonisolated(unsafe) private var scheduled: (any Disposable)?

  /// Sets the disposable of the scheduled action, which `dispose` disposes. Call this once.
  func follow(_ scheduled: any Disposable) { self.scheduled = scheduled }

  /// Called at the end of the run or at a drop, and by a disposal.
  // RT1: release; a thread that reads `isDisposed` as true sees the run
  func end() { isOver.store(true, ordering: .releasing) }
  var isDisposed: Bool { isOver.load(ordering: .acquiring) }  // RT1: acquire; if true, sees what came before `end`

  func dispose() {
    end()
    scheduled?.dispose()
  }

  func disposeAndWait() {
    end()
    scheduled?.disposeAndWait()
  }
}
