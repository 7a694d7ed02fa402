/// How two virtual times compare: the answer of ``VirtualTimeConverter/compareVirtualTime(_:_:)``.
public enum VirtualTimeComparison: Hashable, Sendable {
  /// The first is earlier than the second.
  case lessThan
  /// Neither is earlier than the other.
  case equal
  /// The first is later than the second.
  case greaterThan
}
