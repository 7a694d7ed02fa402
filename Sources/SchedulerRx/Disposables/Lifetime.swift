public import Scheduler

/// The time during which something lives, as others may see it: they register what is to be disposed at its end.
///
/// ```swift
/// final class Player {
///   private let token = Lifetime.Token()
///   let lifetime: Lifetime
///   init() { lifetime = Lifetime(token) }
/// }  // the token dies with the player, and so ends the lifetime
///
/// player.lifetime += clock.subscribe(show)
/// player.lifetime.observeEnded { print("gone") }
/// ```
///
/// 1. A lifetime ends once: with ``Token/dispose()``, or when the last reference to its token is released. Letting go of the
///    lifetime itself ends nothing.
/// 2. ``hasEnded`` is true before the first observer is called. Observers are called, and disposables disposed, in the order of
///    their registration, on the thread that ends the lifetime, and have all been released when that is over.
/// 3. What is registered after the end is called or disposed at once, by the call that registers it, which returns nil. Of what
///    races with the end nothing is lost, and nothing is called twice.
/// 4. A registration that is disposed is gone: its observer is not called, its disposable not disposed, and both are released.
///
/// ReactiveSwift's `Lifetime.of(_:)`, the lifetime of any object whatever, is missing: it needs a place in an object of a class
/// that knows nothing of it, which is what associated objects are, and these the Objective-C runtime alone has. A table beside the
/// objects would have to be told of each one's end. Where it is wanted, give the class a ``Token``, as above.
///
/// The idea is that of ReactiveSwift.
public final class Lifetime: Sendable {
  /// A lifetime that is over.
  public static let empty: Lifetime = {
    defer { Counted.disposables(-1) }  // what it depends on is there for good
    return make().lifetime
  }()

  private let observers: CompositeDisposable

  /// Creates a view of the lifetime that `token` ends. All views of one token see the same.
  public init(_ token: Token) {
    observers = token.observers
  }

  /// Creates a lifetime, and the token that ends it.
  public static func make() -> (lifetime: Lifetime, token: Token) {
    let token = Token()
    return (Lifetime(token), token)
  }

  /// Tells whether the end has begun: one atomic load.
  public var hasEnded: Bool { observers.isDisposed }

  /// Calls `action` when the lifetime ends, at once where that has been; returns what revokes it, nil after the end.
  @discardableResult
  public func observeEnded(_ action: @escaping @Sendable () -> Void) -> (any Disposable)? {
    register(Disposables.create(with: action))
  }

  /// Disposes `disposable`, if there is one, when the lifetime ends, at once where that has been; returns what revokes that.
  @discardableResult
  public static func += (lifetime: Lifetime, disposable: (any Disposable)?) -> (any Disposable)? {
    disposable.flatMap { lifetime.register($0) }
  }

  private func register(_ disposable: any Disposable) -> (any Disposable)? {
    observers.insert(disposable).map { LifetimeRegistration(key: $0, in: observers) }
  }
}
