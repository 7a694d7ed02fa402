public import Scheduler

/// Creates disposables from closures and from other disposables.
///
/// ```swift
/// let token = Disposables.create { handle.close() }
/// let both = Disposables.create(token, subscription)
/// both.dispose()  // closes the handle, then ends the subscription
/// ```
public enum Disposables {
  /// Returns a disposable that does nothing. Allocates nothing.
  public static func create() -> any Disposable { NopDisposable() }

  /// Returns a disposable that runs `dispose` once. The closure is released when the first `dispose()` returns.
  ///
  /// One allocation, besides the closure's context. Releasing the disposable without disposing it releases the closure
  /// without running it.
  ///
  /// - Parameter dispose: called once, by the first disposal, on its thread.
  public static func create(with dispose: @escaping @Sendable () -> Void) -> any Disposable {
    AnonymousDisposable(dispose)
  }

  /// Returns a disposable that disposes `first`, then `second`. One allocation.
  public static func create(_ first: any Disposable, _ second: any Disposable) -> any Disposable {
    BinaryDisposable(first, second)
  }

  /// Returns a disposable that disposes all three in order.
  ///
  /// - Parameters:
  ///   - first: disposed first.
  ///   - second: disposed second.
  ///   - third: disposed last.
  public static func create(
    _ first: any Disposable, _ second: any Disposable, _ third: any Disposable
  ) -> any Disposable {
    NaryDisposable([first, second, third])
  }

  /// Returns a disposable that disposes all of `disposables` in order.
  @_disfavoredOverload  // Swift 6.2 takes two arguments for ambiguous
  public static func create(_ disposables: any Disposable...) -> any Disposable { NaryDisposable(disposables) }

  /// Returns a disposable that disposes all of `disposables` in order.
  public static func create(_ disposables: [any Disposable]) -> any Disposable { NaryDisposable(disposables) }
}
