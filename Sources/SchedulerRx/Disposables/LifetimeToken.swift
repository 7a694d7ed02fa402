public import Scheduler

extension Lifetime {
  /// Ends a lifetime when it is released. Store it in the object whose lifetime it is.
  ///
  /// It is also a disposable, to end the lifetime sooner or from another disposable. Allocates itself and one composite.
  public final class Token: DisposalNode {
    private let counted = CountedDisposable()
    let observers = CompositeDisposable()

    /// Creates a token; pass it to ``Lifetime/init(_:)`` to get its lifetime.
    public init() {}

    deinit {
      guard !observers.isDisposed else { return }
      DisposalWalk.disposeOnRelease { observers.detachChildren(into: &$0) }
    }

    /// Whether the lifetime has ended.
    public var isDisposed: Bool { observers.isDisposed }

    /// Ends the lifetime.
    public func dispose() { observers.dispose() }

    package func detachChildren(into walk: inout DisposalWalk) {
      observers.detachChildren(into: &walk)
    }
  }
}

/// Another name for ``Lifetime/Token``.
public typealias LifetimeToken = Lifetime.Token
