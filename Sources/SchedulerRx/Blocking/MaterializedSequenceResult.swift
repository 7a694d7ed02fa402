public import Scheduler

/// What a source gave, and how it ended.
public enum MaterializedSequenceResult<Element> {
  /// It completed, after these elements.
  case completed(elements: [Element])
  /// It failed after these elements; the error is the source's own, or a `SchedulerError`.
  case failed(elements: [Element], error: any Error)
}

extension MaterializedSequenceResult: Sendable where Element: Sendable {}

extension BlockingObservable {
  /// Returns what has come and how it ended, `SchedulerError.timeout` included.
  @available(*, noasync, message: "it blocks a thread of Swift's own: await the sequence itself")
  public func materialize() -> MaterializedSequenceResult<Element> {
    let (elements, error) = gatherAll()
    if let error { return .failed(elements: elements, error: error) }
    return .completed(elements: elements)
  }
}
