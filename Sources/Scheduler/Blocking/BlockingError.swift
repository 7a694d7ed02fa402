/// Says why a blocking wait gave no result, as RxSwift's `RxError` does. An error of the source itself is thrown as it is; a wait that could
/// never end throws ``DeadlockError``.
public enum BlockingError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The time was over before the end came.
  case timeout
  /// The source completed without the element that was asked for.
  case noElements
  /// The source has more than the one element that was asked for.
  case moreThanOneElement

  public var description: String {
    switch self {
    case .timeout: "the time was over before the end came"
    case .noElements: "the source completed without the element that was asked for"
    case .moreThanOneElement: "the source has more than the one element that was asked for"
    }
  }
}
