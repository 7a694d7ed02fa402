// Holds one disposable that is set once, before or after the disposal. Lock-free.
// States of `word`
//   CLAIMED     a set has begun: that call owns `child` until PUBLISHED
//   PUBLISHED   `child` was written
//   DISPOSED    final
//   other bits  the number of holds, in units of HOLD: one for the container from PUBLISHED to DISPOSED, one for each
//               reader. `child`
//               stays set while there are holds. A hold begins only while PUBLISHED and not DISPOSED, so a count that
//               fell to 0 stays 0.
// Invariants
//   SA1  At most one set claims. Every later set stops the process, also after disposal.
//   SA2  No thread reads `child` while another writes it: it is written before PUBLISHED, and emptied by the thread
//        that ends the final hold.
//   SA3  A child is disposed exactly once: by the detach that finds it PUBLISHED, or else by its set, which then finds
//        DISPOSED.
//   SA4  A thread that reads `isDisposed` as true sees everything that happened before that disposal.
// Orderings
//   claim: relaxed, it only orders the sets · publish: release, pairs with detach and readers, carries `child`
//   detach: acquire, pairs with publish; release, for isDisposed
//   endHold: release, pairs with the final endHold, carries the end of the read; acquire, for the final endHold
// Assumes: fewer than 2^60 readers at a time.
// Source: own design; the count of readers beside the flags is that of split reference counts.
// Models: swift/slots/single.swift.

internal import Synchronization

/// A holder of one disposable, which is set once, before or after the holder's own disposal.
///
/// Use it for work that can end before the call that starts it has returned its disposable:
///
/// ```swift
/// let token = SingleAssignmentDisposable()
/// token.setDisposable(source.begin { token.dispose() })
/// ```
///
/// It costs one allocation, and none for setting. It never blocks. A child set after the disposal is disposed at once,
/// by the call that sets it. The idea is from Rx.NET and RxSwift.
public final class SingleAssignmentDisposable: DisposalNode {
  private static let claimed: UInt = 1  // a set has begun
  private static let published: UInt = 2  // `child` was written
  private static let disposed: UInt = 4  // final
  private static let hold: UInt = 8  // the unit of the number of holds

  private let counted = CountedDisposable()  // for the diagnostic count of disposables
  private let word = Atomic<UInt>(0)
  // Access: see SA2. Speed only: `word` decides the owner, so the runtime need not check exclusive access (25 of 124 ns
  // for a set and a disposal).
  @exclusivity(unchecked) nonisolated(unsafe) private var child = ChildSlot()

  /// Creates a holder without a disposable.
  public init() {}

  deinit {
    guard child.isSet else { return }
    DisposalWalk.release { $0.push(child.take()) }  // frees a chain of any length without recursion
  }

  /// Whether it has been disposed.
  public var isDisposed: Bool {
    // SA4: acquire, so the caller sees all that came before the disposal; pairs with detach
    word.load(ordering: .acquiring) & Self.disposed != 0
  }

  /// The disposable that was set; nil before that, and after the disposal. Setting it calls ``setDisposable(_:)``;
  /// setting nil does nothing.
  public var disposable: (any Disposable)? {
    get { currentChild() }
    set { if let newValue { setDisposable(newValue) } }  // nil is no set: a disposable can still be set later
  }

  /// Returns the child, or nil if it is not set or disposed. Takes a hold, so that no other thread empties `child`
  /// during the read.
  private func currentChild() -> (any Disposable)? {
    var old = word.load(ordering: .relaxed)  // racy read, rechecked by the exchange
    while true {
      guard old & (Self.published | Self.disposed) == Self.published else { return nil }
      let (won, seen) = word.weakCompareExchange(
        // SA2: acquire, to see the words of `child`; pairs with setDisposable
        expected: old, desired: old + Self.hold, ordering: .acquiring)
      if won { break }
      old = seen
    }
    let found = child.child  // a copy: the hold keeps other threads from emptying the field
    endHold()
    return found
  }

  /// Stores `disposable`, which the holder's disposal disposes. If the holder is disposed already, disposes
  /// `disposable` at once.
  ///
  /// A second call stops the process, also after the disposal. To set several disposables, use ``SerialDisposable``
  /// (holds the newest) or ``CompositeDisposable`` (holds all).
  ///
  /// - Parameter disposable: the disposable to set.
  // Speed only: without the attribute the compiler makes this function generic, which boxes its argument again (126
  // instructions).
  @inline(__always) public func setDisposable(_ disposable: any Disposable) {
    // SA1: only one set finds the bit clear; relaxed, it publishes nothing
    let old = word.bitwiseOr(Self.claimed, ordering: .relaxed).oldValue
    if old & Self.claimed != 0 {
      misuse(
        "SingleAssignmentDisposable.setDisposable(_:) was called a second time",
        "set it once, or use SerialDisposable or CompositeDisposable.")
    }
    // SA3: detach came first and found no child, so this call disposes it
    if old & Self.disposed != 0 { return disposable.dispose() }

    child.set(disposable)  // SA2: until PUBLISHED, no other thread accesses `child`
    let before = word.wrappingAdd(  // sets PUBLISHED, whose bit is clear, and adds the container's hold
      Self.published | Self.hold, ordering: .releasing
    ).oldValue  // SA2, SA3: release, so a thread that sees PUBLISHED sees `child`; pairs with detach and currentChild
    guard before & Self.disposed != 0 else { return }
    // SA3: the disposal came first. Its detach saw no child, and no reader can start, so this call disposes the child.
    child.take().dispose()
  }

  /// Disposes the child. A child that is set later is disposed at once.
  public func dispose() {
    if let child = detach() { DisposalWalk.disposeChild(child) }
  }

  package func detachChildren(into walk: inout DisposalWalk) {
    if let child = detach() { walk.push(child) }
  }

  /// Marks this as disposed, and returns the child if the caller must dispose it.
  private func detach() -> (any Disposable)? {
    var old = word.load(ordering: .relaxed)  // racy read, rechecked by the exchange
    while true {
      if old & Self.disposed != 0 { return nil }
      // Less than two holds: only the container's. Then no reader needs `child`, and this exchange ends the container's
      // hold too.
      let hasNoReader = old & Self.published != 0 && old < 2 * Self.hold
      let new = (old | Self.disposed) - (hasNoReader ? Self.hold : 0)
      let (won, seen) = word.weakCompareExchange(
        // SA2: acquire, to see `child`; SA4: release; SA3: pairs with setDisposable
        expected: old, desired: new, ordering: .acquiringAndReleasing)
      if won { break }
      old = seen
    }
    if old & Self.published == 0 { return nil }  // a later set finds DISPOSED, and disposes its child itself
    if old < 2 * Self.hold { return child.take() }  // no hold remains, and no reader can start one
    let found = child.child  // a copy: readers still use the field
    endHold()  // the container's
    return found
  }

  /// Ends a hold. The end of the final hold empties `child`. The caller has a copy of the child, so the child is not
  /// destroyed here.
  private func endHold() {
    let old = word.wrappingSubtract(
      Self.hold, ordering: .acquiringAndReleasing
        // SA2: release and acquire; pairs with endHold of other readers, whose reads end before `take` empties the
        // field
    ).oldValue
    if old < 2 * Self.hold { _ = child.take() }
  }
}
