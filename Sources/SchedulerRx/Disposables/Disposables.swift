public import Scheduler

/// Makes disposables out of closures and of other disposables.
///
/// ```swift
/// let token = Disposables.create { handle.close() }
/// let both = Disposables.create(token, subscription)
/// both.dispose()  // closes the handle, then ends the subscription
/// ```
public enum Disposables {
  /// Returns the disposable that does nothing. Allocates nothing.
  public static func create() -> any Disposable { NopDisposable() }

  /// Returns a disposable that runs `dispose` once, and has released it when the winning `dispose()` returns.
  ///
  /// One allocation, beside the closure's own context. Releasing it undisposed releases the closure and does not run it.
  ///
  /// - Parameter dispose: what the first disposal calls, once, on its thread.
  public static func create(with dispose: @escaping @Sendable () -> Void) -> any Disposable {
    AnonymousDisposable(dispose)
  }

  /// Returns a disposable that disposes `first`, then `second`. One allocation.
  public static func create(_ first: any Disposable, _ second: any Disposable) -> any Disposable {
    BinaryDisposable(first, second)
  }

  /// Returns a disposable that disposes the three in order.
  ///
  /// - Parameters:
  ///   - first: disposed first.
  ///   - second: disposed after it.
  ///   - third: disposed last.
  public static func create(
    _ first: any Disposable, _ second: any Disposable, _ third: any Disposable
  ) -> any Disposable {
    NaryDisposable([first, second, third])
  }

  /// Returns a disposable that disposes all of `disposables` in order.
  public static func create(_ disposables: any Disposable...) -> any Disposable {
    NaryDisposable(disposables)
  }

  /// Returns a disposable that disposes all of `disposables` in order.
  public static func create(_ disposables: [any Disposable]) -> any Disposable {
    NaryDisposable(disposables)
  }
}
