// States
//   isOver  false; true for good, from a disposal or the end of the run
//
// Obligations
//   RT1  Who sees it over sees what was before the disposal, or what the run did.
// Orderings
//   isOver: release when it is set, acquire when it is read
// Assumes: `follow` comes before anybody else has the token.
// Checked by: "what is cancelled gives a cancellation, what is dropped says so, and what runs its result".
// Models: swift/groups/groups.swift.

internal import Synchronization

/// Cancels an action of a ``ResultGroup``. It does not hold the member, whose end tells of a drop.
final class ResultToken: Disposable {
  private let counted = CountedDisposable()
  /// Whether it is disposed, or over.
  private let isOver = Atomic(false)
  /// Written once, before anybody else has this.
  nonisolated(unsafe) private var scheduled: (any Disposable)?

  func follow(_ scheduled: any Disposable) { self.scheduled = scheduled }

  func end() { isOver.store(true, ordering: .releasing) }  // RT1: pairs with isDisposed's acquiring

  var isDisposed: Bool { isOver.load(ordering: .acquiring) }  // RT1: pairs with end's releasing

  func dispose() {
    end()
    scheduled?.dispose()
  }

  func disposeAndWait() {
    end()
    scheduled?.disposeAndWait()
  }
}
