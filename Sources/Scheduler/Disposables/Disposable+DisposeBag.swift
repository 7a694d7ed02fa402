extension Disposable {
  /// Puts it into `bag`, which disposes it when the bag is released.
  ///
  /// - Parameter bag: what disposes this when it ends.
  public func disposed(by bag: DisposeBag) {
    bag.insert(self)
  }

  /// Puts it into `bag`, which disposes it when the bag is released: ``disposed(by:)`` in Combine's words.
  public func store(in bag: DisposeBag) {
    bag.insert(self)
  }
}
