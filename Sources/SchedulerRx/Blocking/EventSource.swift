public import Scheduler

/// What a source says: any number of elements, then at most one end.
public enum SourceEvent<Element: Sendable>: Sendable {
  /// Here is an element.
  case next(Element)
  /// It has failed; nothing follows.
  case error(any Error)
  /// It is over; nothing follows.
  case completed
}

/// What can be waited for with ``EventSource/toBlocking(timeout:needing:)``: an observable, a signal, a publisher of yours.
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

  /// Begins, and calls `handler` with each event: on any thread, one at a time, already before this returns if it likes.
  /// Returns what ends the subscription early. Events that come after that, or after an end, are ignored.
  ///
  /// - Parameter handler: called with each event, on the thread that it comes on.
  func subscribe(_ handler: @escaping @Sendable (SourceEvent<Element>) -> Void) -> any Disposable
}

extension EventSource {
  /// Returns this source as one to wait for, from synchronous code.
  ///
  /// - Parameters:
  ///   - timeout: how long each wait may take: see `BlockingObservable`.
  ///   - scheduler: what the source needs in order to end, if you know it. A wait that would keep that very queue from going on then
  ///     fails at once with `SchedulerError.deadlock`. Without it such a wait ends by the timeout only.
  @inlinable
  public func toBlocking(timeout: Duration? = nil, needing scheduler: SchedulerTarget? = nil)
    -> BlockingObservable<Element>
  {
    BlockingObservable(timeout: timeout, needing: scheduler) { next, end in
      subscribe { event in
        switch event {
        case .next(let element): _ = next(element)
        case .error(let error): end(error)
        case .completed: end(nil)
        }
      }
    }
  }
}
