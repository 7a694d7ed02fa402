extension AnyDisposable: Hashable {
  /// Returns whether both are the same object. The wrapped disposables are not compared.
  public static func == (left: AnyDisposable, right: AnyDisposable) -> Bool { left === right }

  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension Disposable {
  /// Stores this disposable in `set`, and disposes it when the set releases it.
  ///
  /// If the owner of the set is destroyed, all disposables in the set are disposed.
  ///
  /// ```swift
  /// final class Screen {
  ///   private var pending: Set<AnyDisposable> = []
  ///   func show() { queue.schedule(after: .seconds(1)) { blink() }.store(in: &pending) }
  /// }
  /// ```
  public func store(in set: inout Set<AnyDisposable>) { set.insert(AnyDisposable(self, disposesOnRelease: true)) }
}
