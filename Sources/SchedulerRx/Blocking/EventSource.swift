public import Scheduler

/// An event of a source: any number of elements, then at most one end.
public enum SourceEvent<Element: Sendable>: Sendable {
  /// The next element.
  case next(Element)
  /// The source failed; no event follows.
  case error(any Error)
  /// The source completed; no event follows.
  case completed
}

/// A source that ``EventSource/toBlocking(timeout:needing:)`` can wait for: an observable, a signal, your own
/// publisher.
///
/// ```swift
/// struct Countdown: EventSource {
///   func subscribe(_ handler: @escaping @Sendable (SourceEvent<Int>) -> Void) -> any Disposable {
///     for n in [3, 2, 1] { handler(.next(n)) }
///     handler(.completed)
///     return Disposables.create()
///   }
/// }
/// try Countdown().toBlocking().toArray()   // [3, 2, 1]
/// ```
public protocol EventSource<Element> {
  associatedtype Element: Sendable

  /// Subscribes, and calls `handler` with each event, on any thread, one call at a time, even before this method
  /// returns.
  ///
  /// - Parameter handler: called with each event, on the thread that delivers it.
  /// - Returns: a disposable that ends the subscription early. Events after its disposal, or after an end, are ignored.
  func subscribe(_ handler: @escaping @Sendable (SourceEvent<Element>) -> Void) -> any Disposable
}

extension EventSource {
  /// Returns a view of this source that synchronous code can wait for.
  ///
  /// - Parameters:
  ///   - timeout: how long each wait may take: see `BlockingObservable`.
  ///   - scheduler: the scheduler that the source needs in order to end, if you know it. A wait that would block that
  ///     scheduler then fails at once with `SchedulerError.deadlock`. Without it, only the timeout ends such a wait.
  @inlinable
  public func toBlocking(timeout: Duration? = nil, needing scheduler: SchedulerTarget? = nil)
    -> BlockingObservable<Element>
  {
    BlockingObservable(timeout: timeout, needing: scheduler) { next, end in
      subscribe { event in
        switch event {
        // Discarded: whether the wait needs more elements. A wait that needs none disposes the subscription itself.
        case .next(let element): _ = next(element)
        case .error(let error): end(error)
        case .completed: end(nil)  // nil: no error
        }
      }
    }
  }
}

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
    let (elements, error) = gatherAll()  // waits until the source ends, or the timeout
    if let error { return .failed(elements: elements, error: error) }
    return .completed(elements: elements)
  }
}
