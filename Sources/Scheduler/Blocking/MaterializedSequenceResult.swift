/// What a source gave, and how it ended.
public enum MaterializedSequenceResult<Element> {
  /// It completed, after these elements.
  case completed(elements: [Element])
  /// It failed after these elements; the error is the source's own, or a ``SchedulerError``.
  case failed(elements: [Element], error: any Error)
}

extension MaterializedSequenceResult: Sendable where Element: Sendable {}
