extension CompositeDisposable {
  /// Adds a disposable that runs `dispose` once, and returns its key. After the composite's disposal, runs `dispose` at once and returns nil.
  @discardableResult
  public func insert(_ dispose: @escaping @Sendable () -> Void) -> CompositeDisposable.DisposeKey? {
    insert(AnonymousDisposable(dispose))
  }
}
