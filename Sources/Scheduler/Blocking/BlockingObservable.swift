internal import CScheduler

/// Lets synchronous code wait for the elements of an asynchronous source. Each call subscribes, blocks the calling
/// thread as ``RunLoopLock`` does, and disposes the subscription before it returns or throws.
///
/// ```swift
/// let answer = try BlockingObservable<Answer>(timeout: .seconds(5)) { next, end in
///   let request = client.send(query) { result in
///     switch result {
///     case .success(let answer): if next(answer) { end(nil) }
///     case .failure(let error): end(error)
///     }
///   }
///   return AnyDisposable { request.cancel() }
/// }.single()
/// ```
///
/// An `AsyncSequence` has `toBlocking(timeout:needing:)`; publishers have it in `SchedulerCombine`. For RxBlocking's
/// names and the names here, see `Documentation/Migration/RxSwift.md`.
///
/// The timeout counts from the call. `nil`, or more than the clock can hold, waits without limit. With zero or less,
/// the call accepts only elements that arrive during the subscription, including those from actions that
/// ``CurrentThreadScheduler`` runs there; then it times out.
@frozen
public struct BlockingObservable<Element: Sendable> {
  @usableFromInline let timeout: Duration?  // nil: none
  @usableFromInline let neededScheduler: SchedulerTarget?  // what the source needs in order to end; nil: unknown
  @usableFromInline let begin: (BlockingSink<Element>) -> any Disposable  // subscribes the sink to the source

  @inlinable
  init(timeout: Duration?, needed: SchedulerTarget?, begin: @escaping (BlockingSink<Element>) -> any Disposable) {
    self.timeout = timeout
    neededScheduler = needed
    self.begin = begin
  }

  /// Creates a blocking observable from any source.
  ///
  /// - Parameters:
  ///   - timeout: how long each wait may take.
  ///   - scheduler: the scheduler that the source needs in order to end, if you know it. Each call below throws
  ///     ``SchedulerError/deadlock`` at once if its wait would block that queue. Without this argument such a wait ends
  ///     only by the timeout.
  ///   - subscribe: starts the source, and returns a disposable that ends the subscription early. Each wait calls it
  ///     once, on its own thread.
  ///     The source calls `next` with each element; `next` returns whether more elements are wanted. Then the source
  ///     calls `end` at most once, with its error if it failed. It may call them on any thread, one at a time, also
  ///     before `subscribe` returns. Calls after the wait are ignored.
  @inlinable
  public init(
    timeout: Duration? = nil, needing scheduler: SchedulerTarget? = nil,
    subscribe:
      @escaping (
        _ next: @escaping @Sendable (Element) -> Bool, _ end: @escaping @Sendable ((any Error)?) -> Void
      ) -> any Disposable
  ) {
    self.init(timeout: timeout, needed: scheduler) { sink in subscribe({ sink.next($0) }, { sink.end($0) }) }
  }

  /// Returns all elements when the source has completed. Throws its error, ``SchedulerError/timeout`` or
  /// ``SchedulerError/deadlock``.
  @inlinable
  @available(*, noasync, message: "it blocks a thread of Swift's own: await the sequence itself")
  public func toArray() throws -> [Element] { try elements(.all) }

  /// Returns the first element, and disposes the source as soon as that element arrives. Returns `nil` if the source
  /// completes without an element. Throws the source's error, ``SchedulerError/timeout`` or
  /// ``SchedulerError/deadlock``.
  @inlinable
  @available(*, noasync, message: "it blocks a thread of Swift's own: await the sequence itself")
  public func first() throws -> Element? { try elements(.first(1)).first }

  /// Returns the last element when the source has completed, or `nil` if there was none. Throws as ``first()`` does.
  @inlinable
  @available(*, noasync, message: "it blocks a thread of Swift's own: await the sequence itself")
  public func last() throws -> Element? { try elements(.last).last }

  /// Returns the only element when the source has completed. Throws ``SchedulerError/noElements`` if there was none,
  /// and ``SchedulerError/moreThanOneElement`` as soon as a second element arrives. Otherwise throws as ``first()``
  /// does.
  @inlinable
  @available(*, noasync, message: "it blocks a thread of Swift's own: await the sequence itself")
  public func single() throws -> Element { try only(elements(.first(2))) }  // a second element is enough to fail

  /// Returns the only element for which `predicate` is true; otherwise as ``single()``.
  ///
  /// - Parameter predicate: called once for each element, on the thread that delivers the element, until a second match
  ///   is found. An error that it throws ends the wait, and is thrown.
  @inlinable
  @available(*, noasync, message: "it blocks a thread of Swift's own: await the sequence itself")
  public func single(where predicate: @escaping @Sendable (Element) throws -> Bool) throws -> Element {
    try only(elements(.first(2), where: predicate))
  }

  /// Returns the only element of `elements`. Throws `noElements`, or `moreThanOneElement`.
  @inlinable
  func only(_ elements: [Element]) throws -> Element {
    guard let first = elements.first else { throw SchedulerError.noElements }
    guard elements.count == 1 else { throw SchedulerError.moreThanOneElement }
    return first
  }

  /// Waits for the wanted elements for which `predicate` is true (nil: all), and returns them. Throws the error that
  /// ended the wait.
  @inlinable
  func elements(
    _ wanted: BlockingSink<Element>.Wanted, where predicate: BlockingSink<Element>.Predicate? = nil
  ) throws -> [Element] {
    let (elements, error) = gather(wanted, where: predicate)
    if let error { throw error }
    return elements
  }

  /// Waits for the end of the source. Returns all elements, and the error that ended the wait: the source's, `timeout`
  /// or `deadlock`; nil: none.
  package func gatherAll() -> (elements: [Element], error: (any Error)?) { gather(.all) }

  /// Subscribes, and waits until the source ends, enough elements have arrived, or the timeout. Returns the elements,
  /// and the error if there is one.
  @inlinable
  func gather(
    _ wanted: BlockingSink<Element>.Wanted, where predicate: BlockingSink<Element>.Predicate? = nil
  ) -> (elements: [Element], error: (any Error)?) {
    if let neededScheduler, waitWouldDeadlock(neededScheduler) { return ([], SchedulerError.deadlock) }
    let lock = RunLoopLock(timeout: timeout), sink = BlockingSink(wanted, where: predicate, waking: lock)
    // The result, whether `stop` was called, is not needed: the sink has the outcome. A timeout sets it by `giveUp`.
    _ = lock.wait(
      beginningWith: { sink.subscription.setDisposable(begin(sink)) }, givesUp: { sink.giveUp() })
    sink.subscription.dispose()  // after a timeout; any other outcome has disposed it
    return sink.takeResult()
  }
}

/// Returns whether a wait on this thread would block work of `scheduler`. True if `scheduler` is a serial queue, and
/// this thread is inside an action of that queue, of a serial queue in its chain of targets, or of another queue on one
/// of these.
@usableFromInline
func waitWouldDeadlock(_ scheduler: SchedulerTarget) -> Bool {
  var next = scheduler.core
  while let serial = next as? SerialCore {  // a wait blocks each serial queue in the chain of targets
    if csched_target_is_inside(serial.target) { return true }
    next = serial.base
  }
  return false
}
