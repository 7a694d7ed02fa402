extension Protected: Equatable where Value: Equatable {
  /// Compares the two values, each copied out under its own lock: two locks are never held at once, nor one during the
  /// comparison, so neither `x == x` nor `a == b` beside `b == a` can deadlock.
  @inlinable
  public static func == (left: Protected, right: Protected) -> Bool { left.read() == right.read() }
}

extension Protected: Hashable where Value: Hashable {
  /// Hashes a copy of the value, outside of the lock. While a guard is a member of a set, its value must not change.
  @inlinable
  public func hash(into hasher: inout Hasher) { hasher.combine(read()) }
}

extension Protected: CustomStringConvertible {
  /// Describes a copy of the value.
  public var description: String { "Protected(\(read()))" }
}
