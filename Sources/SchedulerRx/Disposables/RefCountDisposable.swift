// Disposes the underlying disposable after the primary and all dependents have been disposed.
// States of `word`
//   primary, 1       bit: the primary was disposed
//   dependent, 2     unit of the other bits: the number of dependents not yet disposed
//   only primary     final: the underlying disposable belongs to the call that set this value
// Invariants
//   RF1  Exactly one call makes the word final, and that call gets the underlying disposable.
//   RF2  A dependent is added in one atomic step, and only while the word is not final. So the underlying disposable
//        outlives each dependent.
//   RF3  Each dependent is subtracted at most once.
//   RF4  A thread that sees the primary or a dependent as disposed sees all writes made before that disposal.
// Orderings
//   disposePrimary, removeDependent: release, pairs with the acquire of the call that makes the word final, carries
//   earlier writes
// Assumes: fewer than 2^62 dependents at a time.
// Models: swift/slots/ref_count.swift.

public import Scheduler
internal import Synchronization

/// The primary of an underlying disposable, which is disposed after the primary and all of its dependents have been
/// disposed.
///
/// ```swift
/// let connection = RefCountDisposable(disposable: socket)
/// let reader = connection.retain()
/// connection.dispose()  // the reader still needs the socket
/// reader.dispose()      // disposes the socket
/// ```
///
/// 1. The final one of these disposals disposes the underlying disposable before it returns. Each disposal is one
///    atomic step.
/// 2. After the primary's disposal, while dependents remain, ``retain()`` still returns a dependent, and the underlying
///    disposable waits for it. After the underlying disposal, ``retain()`` returns a disposable that is already
///    disposed.
/// 3. A dependent disposed twice counts once. Releasing a dependent does not dispose it: the underlying disposable then
///    waits for ever.
/// 4. ``isDisposed`` is the state of the underlying disposable: after ``dispose()`` it stays false while dependents
///    remain.
///
/// The idea, and guarantee 2, come from Rx.NET and RxSwift.
public final class RefCountDisposable: DisposalNode {
  fileprivate static let primary: UInt = 1  // the bit of `word` for the disposed primary
  fileprivate static let dependent: UInt = 2  // added to `word` for each dependent
  /// What `retain` returns after the underlying disposal: a disposed disposable, the same for all callers.
  private static let ended: BooleanDisposable = {
    defer { Counted.disposables(-1) }  // this constant is never released, and must not count as a leak
    return BooleanDisposable(isDisposed: true)
  }()

  private let counted = CountedDisposable()  // for the diagnostic count of disposables
  private let word = Atomic<UInt>(0)  // see States
  // Only init, deinit and the call that made `word` final access `underlying`.
  @exclusivity(unchecked) nonisolated(unsafe) private var underlying: (any Disposable)?

  /// Creates the primary of `disposable`, without dependents.
  public init(disposable: any Disposable) {
    underlying = disposable
  }

  deinit {
    guard underlying != nil else { return }  // nil: the disposal took the underlying disposable
    DisposalWalk.release { walk in  // frees a chain of any length without recursion
      if let underlying = underlying.take() { walk.push(underlying) }
    }
  }

  /// Whether the disposal of the underlying disposable has begun.
  public var isDisposed: Bool {
    // primary alone: final. RF4: acquire, to see writes before the disposals; pairs with disposePrimary and
    // removeDependent
    word.load(ordering: .acquiring) == Self.primary
  }

  /// Returns a new dependent: the underlying disposable is not disposed before the dependent is. One allocation.
  public func retain() -> any Disposable {
    var old = word.load(ordering: .relaxed)  // racy read, rechecked by the exchange
    while old != Self.primary {  // primary alone: final
      let (won, seen) = word.weakCompareExchange(
        // RF2: adds only while not final; relaxed, because a new dependent publishes no data
        expected: old, desired: old + Self.dependent, ordering: .relaxed)
      if won { return DependentDisposable(self) }
      old = seen
    }
    return Self.ended
  }

  /// Disposes the primary, and the underlying disposable if there are no dependents.
  public func dispose() {
    if let underlying = disposePrimary() { DisposalWalk.disposeChild(underlying) }
  }

  /// As `dispose`, called by a `walk` that disposes a container of this object: moves the underlying disposable into
  /// `walk`, which then disposes it.
  package func detachChildren(into walk: inout DisposalWalk) {
    if let underlying = disposePrimary() { walk.push(underlying) }
  }

  /// Marks the primary as disposed. Returns the underlying disposable if that makes the word final.
  private func disposePrimary() -> (any Disposable)? {
    // RF1: only one call makes the word final. It acquires what the earlier disposals released, and gets the underlying
    // disposable.
    let old = word.bitwiseOr(Self.primary, ordering: .acquiringAndReleasing).oldValue  // RF1: one call makes it final
    return old == 0 ? underlying.take() : nil  // 0: no dependents, and first disposal of the primary
  }

  /// Subtracts one dependent. Returns the underlying disposable if that makes the word final.
  fileprivate func removeDependent() -> (any Disposable)? {
    // RF1: one call makes the word final, and acquires, as in disposePrimary
    let new = word.wrappingSubtract(Self.dependent, ordering: .acquiringAndReleasing).newValue
    return new == Self.primary ? underlying.take() : nil  // primary: disposed, and no dependent remains
  }
}

/// The dependent that ``RefCountDisposable/retain()`` returns. Its disposal subtracts it from the parent's `word`,
/// once.
private final class DependentDisposable: DisposalNode {
  private let counted = CountedDisposable()  // for the diagnostic count of disposables
  private let disposed = Atomic(false)  // final once true
  // Only init, deinit and the thread that set `disposed` access `parent`.
  @exclusivity(unchecked) nonisolated(unsafe) private var parent: RefCountDisposable?

  init(_ parent: RefCountDisposable) {
    self.parent = parent
  }

  deinit {
    guard parent != nil else { return }  // nil: the disposal took it; otherwise this dependent counts for ever
    DisposalWalk.release { walk in  // frees a chain of any length without recursion
      if let parent = parent.take() { walk.push(parent) }
    }
  }

  var isDisposed: Bool {
    disposed.load(ordering: .acquiring)  // RF4: acquire, to see writes before the disposal; pairs with detachChildren
  }

  func dispose() {
    DisposalWalk.dispose(self)  // calls detachChildren
  }

  package func detachChildren(into walk: inout DisposalWalk) {
    // RF3: only the first disposal subtracts, so no dependent counts twice; RF4: release, to publish earlier writes to
    // isDisposed
    guard !disposed.exchange(true, ordering: .releasing), let parent = parent.take() else { return }
    if let underlying = parent.removeDependent() {
      walk.push(underlying)
    } else {
      walk.push(released: parent)  // the walk releases it: if this was the last reference, without recursion
    }
  }
}
