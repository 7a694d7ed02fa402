public import Scheduler

/// The elements of a source, and how it ended.
public enum MaterializedSequenceResult<Element> {
  /// The source completed after these elements.
  case completed(elements: [Element])
  /// The source failed after these elements. The error is the source's own, or a `SchedulerError`.
  case failed(elements: [Element], error: any Error)
}

extension MaterializedSequenceResult: Sendable where Element: Sendable {}

extension BlockingObservable {
  /// Returns the elements received and how the source ended. A timeout is a failure with `SchedulerError.timeout`.
  @available(*, noasync, message: "it blocks a thread of Swift's own: await the sequence itself")
  public func materialize() -> MaterializedSequenceResult<Element> {
    let (elements, error) = gatherAll()
    if let error { return .failed(elements: elements, error: error) }
    return .completed(elements: elements)
  }
}
