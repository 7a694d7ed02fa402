/// `Protected` is not `Hashable`, because its value can change, and a member of a set must not change.
extension Protected: Equatable where Value: Equatable {
  /// Returns whether the two values are equal. Each value is copied out under its own lock.
  ///
  /// Two locks are never held at once, and no lock is held during the comparison. So neither `x == x` nor `a == b` beside `b == a`
  /// can deadlock.
  @inlinable
  public static func == (left: Protected, right: Protected) -> Bool { left.read() == right.read() }
}

extension Protected: CustomStringConvertible {
  /// A description of a copy of the value.
  public var description: String { "Protected(\(read()))" }
}
