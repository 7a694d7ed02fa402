public import Scheduler

extension Lifetime {
  /// Ends a lifetime when it is released: the field of an owner whose lifetime it is.
  ///
  /// It is a disposable too: to end the lifetime sooner, or from inside another disposable. Allocates itself and one composite.
  public final class Token: DisposalNode {
    private let counted = CountedDisposable()
    let observers = CompositeDisposable()

    /// Creates a token; ``Lifetime/init(_:)`` gives its lifetime.
    public init() {}

    deinit {
      guard !observers.isDisposed else { return }
      DisposalWalk.disposeOnRelease { observers.detachChildren(into: &$0) }
    }

    /// Tells whether the lifetime has ended.
    public var isDisposed: Bool { observers.isDisposed }

    /// Ends the lifetime.
    public func dispose() { observers.dispose() }

    package func detachChildren(into walk: inout DisposalWalk) {
      observers.detachChildren(into: &walk)
    }
  }
}

/// ``Lifetime/Token`` under a name of its own.
public typealias LifetimeToken = Lifetime.Token
