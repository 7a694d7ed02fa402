// States of `word`
//   PRIMARY          the primary was disposed
//   the rest         how many dependents are not disposed, in units of DEPENDENT
//   PRIMARY alone    final: the underlying belongs to the call that made it so
// Obligations
//   R1  Exactly one call makes the word final, and gets the underlying.
//   R2  A dependent is added to a word that is not final only, and in one step, so it holds the underlying up.
//   R3  Each dependent leaves at most once.
//   R4  Whoever sees it, or a dependent, disposed sees what was before.
// Orderings
//   leave: release, pairs with the call that makes the word final, carries what the leaver did before; acquire, for that call
// Assumes: fewer than 2^62 dependents at a time.
// Checked by: "the underlying is disposed once, by the last of primary and dependents",
//   "dependents that race the primary never lose the underlying nor dispose it early".
// Models: swift/slots/ref_count.swift.

public import Scheduler
internal import Synchronization

/// Disposes its underlying disposable when it has been disposed itself, and so have all of its dependents.
///
/// ```swift
/// let connection = RefCountDisposable(disposable: socket)
/// let reader = connection.retain()
/// connection.dispose()  // the reader still needs the socket
/// reader.dispose()      // ends it
/// ```
///
/// 1. One of all these calls disposes the underlying, the last one, before it returns. Each of them is one atomic step.
/// 2. After the primary's disposal, while dependents are left, ``retain()`` still gives one that holds the underlying up.
///    When that has been disposed, ``retain()`` gives one that is disposed already.
/// 3. A dependent disposed twice counts once. One that is merely released is not disposed: the underlying waits for it for ever.
/// 4. ``isDisposed`` is that of the underlying: after ``dispose()`` it stays false for as long as there are dependents.
///
/// The idea, and the second law, are those of Rx.NET and RxSwift.
public final class RefCountDisposable: DisposalNode {
  fileprivate static let primary: UInt = 1
  fileprivate static let dependent: UInt = 2
  private static let ended: BooleanDisposable = {
    defer { Counted.disposables(-1) }  // it is there for good
    return BooleanDisposable(isDisposed: true)
  }()

  private let counted = CountedDisposable()
  private let word = Atomic<UInt>(0)
  // Touched by the call that made `word` final, and by init and deinit, alone.
  @exclusivity(unchecked) nonisolated(unsafe) private var underlying: (any Disposable)?

  /// Creates the primary of `disposable`, without dependents.
  public init(disposable: any Disposable) {
    underlying = disposable
  }

  deinit {
    guard underlying != nil else { return }
    DisposalWalk.release { walk in
      if let underlying = underlying.take() { walk.push(underlying) }
    }
  }

  /// Tells whether the disposal of the underlying has begun.
  public var isDisposed: Bool {
    word.load(ordering: .acquiring) == Self.primary  // R4: acquire; pairs with leave
  }

  /// Returns a new dependent: until it is disposed, the underlying is not. One allocation.
  public func retain() -> any Disposable {
    var old = word.load(ordering: .relaxed)  // racy read, rechecked by the exchange
    while old != Self.primary {
      let (won, seen) = word.weakCompareExchange(
        expected: old, desired: old + Self.dependent, ordering: .relaxed)  // R2: the word alone decides
      if won { return DependentDisposable(self) }
      old = seen
    }
    return Self.ended
  }

  /// Disposes the primary, and the underlying if there are no dependents.
  public func dispose() {
    if let underlying = leavePrimary() { DisposalWalk.disposeChild(underlying) }
  }

  package func detachChildren(into walk: inout DisposalWalk) {
    if let underlying = leavePrimary() { walk.push(underlying) }
  }

  private func leavePrimary() -> (any Disposable)? {
    let old = word.bitwiseOr(Self.primary, ordering: .acquiringAndReleasing).oldValue  // R1
    return old == 0 ? underlying.take() : nil
  }

  /// Takes one dependent off, and returns the underlying if that makes the word final.
  fileprivate func leaveDependent() -> (any Disposable)? {
    let new = word.wrappingSubtract(Self.dependent, ordering: .acquiringAndReleasing).newValue  // R1
    return new == Self.primary ? underlying.take() : nil
  }
}

/// What ``RefCountDisposable/retain()`` returns.
private final class DependentDisposable: DisposalNode {
  private let counted = CountedDisposable()
  private let disposed = Atomic(false)
  // Touched by the thread that won `disposed`, and by init and deinit, alone.
  @exclusivity(unchecked) nonisolated(unsafe) private var parent: RefCountDisposable?

  init(_ parent: RefCountDisposable) {
    self.parent = parent
  }

  deinit {
    guard parent != nil else { return }
    DisposalWalk.release { walk in
      if let parent = parent.take() { walk.push(parent) }
    }
  }

  var isDisposed: Bool {
    disposed.load(ordering: .acquiring)  // R4: acquire; pairs with detachChildren
  }

  func dispose() {
    DisposalWalk.dispose(self)
  }

  package func detachChildren(into walk: inout DisposalWalk) {
    guard !disposed.exchange(true, ordering: .releasing), let parent = parent.take() else { return }  // R3, R4: release
    if let underlying = parent.leaveDependent() {
      walk.push(underlying)
    } else {
      walk.push(released: parent)  // it may be the last reference: then what it holds is released by the walk, too
    }
  }
}
