internal import CScheduler

/// A source whose results are waited for: each call subscribes, blocks the calling thread as ``RunLoopLock`` does, and has disposed the
/// subscription before it returns or throws.
///
/// RxBlocking's names and those here: <doc:ComingFromRxSwift>.
///
/// The timeout counts from the call. `nil` is for ever, as is more than the clock can hold. With zero and less, what comes during the
/// subscription counts, and what ``CurrentThreadScheduler`` runs there; then the time is over.
public struct BlockingObservable<Element: Sendable> {
  @usableFromInline let timeout: Duration?
  @usableFromInline let needed: SchedulerTarget?
  @usableFromInline let subscribe: (BlockingSink<Element>) -> any Disposable

  @inlinable
  init(
    timeout: Duration?, needed: SchedulerTarget?, subscribe: @escaping (BlockingSink<Element>) -> any Disposable
  ) {
    self.timeout = timeout
    self.needed = needed
    self.subscribe = subscribe
  }

  /// For sources that can be told when nothing more is wanted: `on` returns whether more is, and `giveUp` says that the time is over.
  package init(
    timeout: Duration?, needing scheduler: SchedulerTarget?,
    subscribe:
      @escaping (
        _ on: @escaping @Sendable (SourceEvent<Element>) -> Bool, _ giveUp: @escaping @Sendable () -> Void
      ) -> any Disposable
  ) {
    self.init(timeout: timeout, needed: scheduler) { sink in
      subscribe({ sink.on($0) }, { sink.on(.error(SchedulerError.timeout)) })
    }
  }

  /// Returns all elements when the source has completed. Throws its error, or ``SchedulerError/timeout``.
  @inlinable
  @available(*, noasync, message: "it blocks a thread of Swift's own: await the sequence itself")
  public func toArray() throws -> [Element] { try elements(.all) }

  /// Returns the first element, and disposes the source as soon as it has come; `nil` if the source completes without one. Throws its
  /// error, or ``SchedulerError/timeout``.
  @inlinable
  @available(*, noasync, message: "it blocks a thread of Swift's own: await the sequence itself")
  public func first() throws -> Element? { try elements(.first(1)).first }

  /// Returns the last element when the source has completed, `nil` if there was none. Throws its error, or ``SchedulerError/timeout``.
  @inlinable
  @available(*, noasync, message: "it blocks a thread of Swift's own: await the sequence itself")
  public func last() throws -> Element? { try elements(.last).last }

  /// Returns the only element when the source has completed. Throws ``SchedulerError/noElements``; ``SchedulerError/moreThanOneElement`` as
  /// soon as a second one comes; its error; ``SchedulerError/timeout``.
  @inlinable
  @available(*, noasync, message: "it blocks a thread of Swift's own: await the sequence itself")
  public func single() throws -> Element { try only(elements(.first(2))) }

  /// Returns the only element for which `predicate` is true; otherwise as ``single()``.
  ///
  /// The predicate is called once for each element, on the thread that it comes on, until the second one is found; what it throws ends
  /// the wait and is thrown.
  ///
  /// - Parameter predicate: called for each element, on the thread that it comes on. What it throws ends the wait, and is thrown.
  @inlinable
  @available(*, noasync, message: "it blocks a thread of Swift's own: await the sequence itself")
  public func single(where predicate: @escaping @Sendable (Element) throws -> Bool) throws -> Element {
    try only(elements(.first(2), where: predicate))
  }

  /// Returns what has come and how it ended, ``SchedulerError/timeout`` included.
  @inlinable
  @available(*, noasync, message: "it blocks a thread of Swift's own: await the sequence itself")
  public func materialize() -> MaterializedSequenceResult<Element> { gather(.all) }

  @inlinable
  func only(_ elements: [Element]) throws -> Element {
    guard let first = elements.first else { throw SchedulerError.noElements }
    guard elements.count == 1 else { throw SchedulerError.moreThanOneElement }
    return first
  }

  @inlinable
  func elements(
    _ wanted: BlockingSink<Element>.Wanted, where predicate: BlockingSink<Element>.Predicate? = nil
  ) throws -> [Element] {
    switch gather(wanted, where: predicate) {
    case .completed(let elements): return elements
    case .failed(_, let error): throw error
    }
  }

  @inlinable
  func gather(
    _ wanted: BlockingSink<Element>.Wanted, where predicate: BlockingSink<Element>.Predicate? = nil
  ) -> MaterializedSequenceResult<Element> {
    if let needed, isHeldUp(needed) { return .failed(elements: [], error: SchedulerError.deadlock) }
    let lock = RunLoopLock(timeout: timeout), sink = BlockingSink(wanted, where: predicate, waking: lock)
    _ = lock.wait(
      beginningWith: { sink.subscription.setDisposable(subscribe(sink)) }, givesUp: { sink.giveUp() })
    sink.subscription.dispose()
    return sink.takeResult()
  }
}

/// Whether work of `scheduler` cannot go on while the caller waits: it is a serial queue that has an action
/// on this thread's stack, or whose target is one.
@usableFromInline
func isHeldUp(_ scheduler: SchedulerTarget) -> Bool {
  var next = scheduler.core
  while let serial = next as? SerialCore {
    if csched_target_is_inside(serial.target) { return true }
    next = serial.base
  }
  return false
}

extension EventSource {
  /// Returns this source as one to wait for, from synchronous code.
  ///
  /// - Parameters:
  ///   - timeout: how long each wait may take: see ``BlockingObservable``.
  ///   - scheduler: what the source needs in order to end, if you know it. A wait that would keep that very queue from going on then
  ///     fails at once with ``SchedulerError/deadlock``. Without it such a wait ends by the timeout only.
  @inlinable
  public func toBlocking(timeout: Duration? = nil, needing scheduler: SchedulerTarget? = nil)
    -> BlockingObservable<Element>
  {
    BlockingObservable(timeout: timeout, needed: scheduler) { sink in subscribe { sink.on($0) } }
  }
}
