public import Scheduler

/// The lifetime of an object: callers register disposables and closures for its end.
///
/// ```swift
/// final class Player {
///   private let token = Lifetime.Token()
///   let lifetime: Lifetime
///   init() { lifetime = Lifetime(token) }
/// }  // the player releases the token, which ends the lifetime
///
/// player.lifetime += clock.subscribe(show)
/// player.lifetime.observeEnded { print("gone") }
/// ```
///
/// 1. A lifetime ends once: with ``Token/dispose()``, or when the last reference to its token is released. Releasing
///    the lifetime itself does not end it.
/// 2. ``hasEnded`` is true before the first observer is called. The ending thread calls observers and disposes
///    disposables in the order of their registration. When ``Token/dispose()`` returns, or the token is released, all
///    of them have been released.
/// 3. A registration after the end calls the observer or disposes the disposable at once, and returns nil. If a
///    registration races with the end, its observer is called exactly once.
/// 4. Disposing a registration revokes it: its observer is not called, its disposable is not disposed, and both are
///    released.
///
/// The idea comes from ReactiveSwift. Its `Lifetime.of(_:)`, the lifetime of any object, has no equivalent: it needs
/// the associated objects of the Objective-C runtime. A table of objects would need a notification of each object's
/// end. Instead, give the class a ``Token``, as above.
public final class Lifetime: Sendable {
  /// A lifetime that has ended.
  public static let empty: Lifetime = {
    defer { Counted.disposables(-1) }  // its composite is never released, and must not count as a leak
    return make().lifetime  // the token is released here, which ends the lifetime
  }()

  private let observers: CompositeDisposable  // the registered disposables and closures; shared with the token

  /// Creates a view of the lifetime that `token` ends. All views of one token are equivalent.
  public init(_ token: Token) {
    observers = token.observers
  }

  /// Returns a new lifetime, and the token that ends it.
  public static func make() -> (lifetime: Lifetime, token: Token) {
    let token = Token()
    return (Lifetime(token), token)
  }

  /// Whether the lifetime has begun to end: one atomic load.
  public var hasEnded: Bool { observers.isDisposed }

  /// Calls `action` when the lifetime ends, or at once if it has ended. Returns a disposable that revokes the
  /// registration; nil after the end.
  @discardableResult
  public func observeEnded(_ action: @escaping @Sendable () -> Void) -> (any Disposable)? {
    register(Disposables.create(with: action))
  }

  /// Disposes `disposable`, if it is not nil, when the lifetime ends, or at once if it has ended.
  /// Returns a disposable that revokes the registration; nil after the end.
  @discardableResult
  public static func += (lifetime: Lifetime, disposable: (any Disposable)?) -> (any Disposable)? {
    disposable.flatMap { lifetime.register($0) }  // flatMap: nil for a nil disposable
  }

  /// Adds `disposable`, or disposes it at once after the end. Returns a disposable that revokes the registration; nil
  /// after the end.
  private func register(_ disposable: any Disposable) -> (any Disposable)? {
    observers.insert(disposable).map { LifetimeRegistration(key: $0, in: observers) }
  }
}

extension Lifetime {
  /// Ends a lifetime when it is released. Store it in the object whose lifetime it is.
  ///
  /// It is also a disposable: dispose it, or a container of it, to end the lifetime sooner. It allocates itself and one
  /// composite.
  public final class Token: DisposalNode {
    private let counted = CountedDisposable()  // for the diagnostic count of disposables
    let observers = CompositeDisposable()  // disposed at the end of the lifetime

    /// Creates a token; pass it to ``Lifetime/init(_:)`` to get its lifetime.
    public init() {}

    deinit {
      guard !observers.isDisposed else { return }  // the lifetime has ended already
      DisposalWalk.disposeOnRelease { observers.detachChildren(into: &$0) }  // a walk: nested tokens need no recursion
    }

    /// Whether the lifetime has ended.
    public var isDisposed: Bool { observers.isDisposed }

    /// Ends the lifetime.
    public func dispose() { observers.dispose() }

    /// As `dispose`, called by a `walk` that disposes a container of the token: moves the observers into `walk`, which
    /// then disposes them.
    package func detachChildren(into walk: inout DisposalWalk) {
      observers.detachChildren(into: &walk)
    }
  }
}

/// Another name for ``Lifetime/Token``.
public typealias LifetimeToken = Lifetime.Token
