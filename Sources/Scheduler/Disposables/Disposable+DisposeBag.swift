extension Disposable {
  /// Adds this disposable to `bag`, which disposes it when the bag is released.
  ///
  /// - Parameter bag: the bag that disposes this disposable.
  public func disposed(by bag: DisposeBag) {
    bag.insert(self)
  }

  /// Adds this disposable to `bag`, which disposes it when the bag is released. Combine's name for ``disposed(by:)``.
  public func store(in bag: DisposeBag) {
    bag.insert(self)
  }
}
