// Collects the elements of a source for a blocking wait, until the wait has enough elements, the source ends, or the
// wait times out.
//
// States of `state.outcome`, under the lock: nil; then the final outcome.
// Invariants
//   O1  There is one outcome: the source's end, enough elements, or the timeout. The first one is final.
//   O2  Events after the outcome change nothing. The elements and the predicate are not retained here after the wait.
//   O3  The source is disposed once, before the wait ends.
//   O4  The waiter sees everything that the source did before the outcome.
// Orderings: the lock's.
// Models: swift/blocking/blocking_sink.swift.

/// Receives a source's elements and its end for a waiting thread. When it has enough elements, or at the end, it
/// disposes the source and wakes that thread. Inlinable into the waiter's module, which knows the element's type:
/// looking up generic types would take longer than the rest.
@_fixed_layout @usableFromInline
final class BlockingSink<Element: Sendable>: Sendable {
  @usableFromInline typealias Predicate = @Sendable (Element) throws -> Bool

  /// Which elements are stored.
  @usableFromInline enum Wanted: Equatable, Sendable {
    case all
    /// The given number of elements; the source is disposed as soon as that many have arrived.
    case first(Int)
    case last  // only the newest element
  }

  @usableFromInline enum Outcome: Sendable {
    case completed  // the source has ended, or enough elements have arrived
    case failed(any Error)  // the source's error, or `timeout`
  }

  @frozen @usableFromInline struct State: Sendable {
    @usableFromInline var elements: [Element] = []
    @usableFromInline var outcome: Outcome?  // set once
    @usableFromInline var predicate: Predicate?  // which elements count, nil: all; nil after the outcome

    @inlinable init(predicate: Predicate?) { self.predicate = predicate }
  }

  @usableFromInline let subscription = SingleAssignmentDisposable()  // its disposal disposes the source
  @usableFromInline let lock: RunLoopLock  // the waiting thread is in its `wait`, which `stop` ends
  @usableFromInline let wanted: Wanted
  @usableFromInline let state: Protected<State>

  @inlinable
  init(_ wanted: Wanted, where predicate: Predicate?, waking lock: RunLoopLock) {
    self.wanted = wanted
    self.lock = lock
    state = Protected(State(predicate: predicate))
  }

  /// Receives an element from the source. Returns whether more elements are wanted.
  @inlinable @discardableResult
  func next(_ element: Element) -> Bool {
    let (isOver, predicate) = state.withLock { ($0.outcome != nil, $0.predicate) }
    if isOver { return false }
    do {
      if let predicate, try !predicate(element) { return true }  // outside the lock: user code
    } catch {
      end(error)
      return false
    }
    var replaced: [Element] = [], oldPredicate: Predicate?  // taken from the state, to release them outside the lock
    let (isWanted, isEnough) = state.withLock { state in
      // O2: again, because the lock was released for the predicate
      guard state.outcome == nil else { return (false, false) }
      if wanted == .last { swap(&replaced, &state.elements) }  // keeps only the newest element
      state.elements.append(element)
      // with `first(n)`, the n-th element is the outcome; otherwise more are wanted
      guard case .first(state.elements.count) = wanted else { return (true, false) }
      state.outcome = .completed
      swap(&oldPredicate, &state.predicate)
      return (false, true)
    }
    (replaced, oldPredicate) = ([], nil)  // O2: before `finish`, so that the woken waiter finds them released
    if isEnough { finish() }
    return isWanted
  }

  /// Receives the end of the source, with the error if there is one.
  @inlinable
  func end(_ error: (any Error)?) {
    if settle(error.map { .failed($0) } ?? .completed) { finish() }  // true: this is the first outcome
  }

  /// Disposes the source, then wakes the waiter (O3). Called once, by the thread that set an outcome other than the
  /// timeout.
  @inlinable
  func finish() {
    subscription.dispose()
    lock.stop()
  }

  /// Called at the timeout, on the waiting thread. If there is no outcome, makes the timeout the outcome and returns
  /// true: the wait ends. Otherwise returns false: the wait continues until `finish` has disposed the source.
  @inlinable
  func giveUp() -> Bool { settle(.failed(SchedulerError.timeout)) }

  /// Sets the outcome if there is none, and releases the predicate. Returns whether it set the outcome.
  @inlinable
  func settle(_ outcome: Outcome) -> Bool {
    var predicate: Predicate?  // taken from the state, to release it outside the lock
    let isFirst = state.withLock { state in
      guard state.outcome == nil else { return false }
      state.outcome = outcome
      swap(&predicate, &state.predicate)
      return true
    }
    return isFirst
  }

  /// Removes and returns the elements, and the error that ended the wait. Requires: there is an outcome.
  @inlinable
  func takeResult() -> (elements: [Element], error: (any Error)?) {
    state.withLock { state in
      var elements: [Element] = []
      swap(&elements, &state.elements)
      switch state.outcome {
      case .completed: return (elements, nil)
      case .failed(let error): return (elements, error)
      case nil: misuse("BlockingSink.takeResult", "asked before the end")
      }
    }
  }
}
