/// Not Hashable, because the value changes: a member of a set must not.
extension Protected: Equatable where Value: Equatable {
  /// Compares the two values, each copied out under its own lock: two locks are never held at once, nor one during the
  /// comparison, so neither `x == x` nor `a == b` beside `b == a` can deadlock.
  @inlinable
  public static func == (left: Protected, right: Protected) -> Bool { left.read() == right.read() }
}

extension Protected: CustomStringConvertible {
  /// Describes a copy of the value.
  public var description: String { "Protected(\(read()))" }
}
