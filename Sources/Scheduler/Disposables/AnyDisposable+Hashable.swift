extension AnyDisposable: Hashable {
  /// Tells whether they are one and the same, whatever they stand for.
  public static func == (left: AnyDisposable, right: AnyDisposable) -> Bool { left === right }

  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension Disposable {
  /// Stores this one in `set`, which disposes it when it lets go of it: of all of them, when the owner of the set ends.
  ///
  /// ```swift
  /// final class Screen {
  ///   private var pending: Set<AnyDisposable> = []
  ///   func show() { queue.schedule(after: .seconds(1)) { blink() }.store(in: &pending) }
  /// }
  /// ```
  public func store(in set: inout Set<AnyDisposable>) { set.insert(AnyDisposable(self, disposesOnRelease: true)) }
}
