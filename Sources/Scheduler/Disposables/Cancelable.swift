/// Tells, besides, whether it has been disposed.
public protocol Cancelable: Disposable {
  /// Tells whether a disposal has begun: one atomic load. It turns true once, before the first effect of the disposal.
  var isDisposed: Bool { get }
}
