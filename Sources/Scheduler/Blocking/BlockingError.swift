/// Says why a blocking wait gave no result. An error of the source itself is thrown as it is.
public enum BlockingError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The time was over before the end came.
  case timeout
  /// The source completed without the element that was asked for.
  case noElements
  /// The source has more than the one element that was asked for.
  case moreThanOneElement
  /// The wait could never end: the caller keeps from going on what it would wait for.
  case deadlock

  public var description: String {
    switch self {
    case .timeout: "the time was over before the end came"
    case .noElements: "the source completed without the element that was asked for"
    case .moreThanOneElement: "the source has more than the one element that was asked for"
    case .deadlock: "the wait could never end: the caller keeps from going on what it would wait for. Wait elsewhere."
    }
  }
}
