extension CompositeDisposable {
  /// Adds a disposable that runs `dispose` once, and returns its key; after the disposal it runs it at once, and returns nil.
  @discardableResult
  public func insert(_ dispose: @escaping @Sendable () -> Void) -> DisposeKey? {
    insert(AnonymousDisposable(dispose))
  }

  /// Adds `disposable`, if there is one: ReactiveSwift's spelling of ``insert(_:)-(Disposable)``.
  @discardableResult
  public static func += (composite: CompositeDisposable, disposable: (any Disposable)?) -> DisposeKey? {
    disposable.flatMap { composite.insert($0) }
  }

  /// Adds a disposable that runs `dispose` once.
  @discardableResult
  public static func += (composite: CompositeDisposable, dispose: @escaping @Sendable () -> Void) -> DisposeKey? {
    composite.insert(dispose)
  }
}
