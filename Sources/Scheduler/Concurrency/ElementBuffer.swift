/// A buffer between a source and the tasks that iterate over its sequence. It stores elements that arrive while no task
/// waits.
/// `AsyncStream` is not used: it resumes its task inside the job that yields an element, which may deadlock
/// (``Resumption``).
final class ElementBuffer<Element: Sendable>: Sendable {
  private struct State: Sendable {
    var elements: ArraySlice<Element> = []
    // the tasks that wait in `next`, oldest first; empty while there are elements
    var waiters: ArraySlice<Resumption<Element?>> = []
    var isOver = false  // `end` was called: no element is added
    var error: (any Error)?  // of `end`; the call of `next` that finds no more elements throws it, once

    /// Removes and returns what a call of `next` returns: an element, the error, or a nil element at the end. Returns
    /// `nil` if the call must wait.
    mutating func take() -> Result<Element?, any Error>? {
      if let first = elements.popFirst() { return .success(first) }
      guard isOver else { return nil }
      return error.take().map { .failure($0) } ?? .success(nil)
    }
  }

  private let state = Protected(State())
  private let capacity: Int
  private let merge: @Sendable (_ last: inout Element, _ element: Element) -> Void
  private let source = SingleAssignmentDisposable()  // stops the source of the elements; `end` disposes it

  /// - Parameters:
  ///   - capacity: how many elements to store, at least 1: a full buffer must have an element into which `merge`
  ///     merges.
  ///   - merge: merges an element that arrives while the buffer is full into `last`, the newest stored one. Called
  ///     under the buffer's lock.
  init(capacity: Int, merge: @escaping @Sendable (_ last: inout Element, _ element: Element) -> Void) {
    self.capacity = capacity
    self.merge = merge
  }

  /// Stores `source`, which `end` disposes. Disposes it at once if the sequence has ended.
  func follow(_ source: any Disposable) { self.source.setDisposable(source) }

  /// Resumes the task that has waited longest with `element`, or stores `element` if no task waits. Does nothing after
  /// the end.
  func put(_ element: Element) {
    let waiter: Resumption<Element?>? = state.withLock { state in
      guard !state.isOver else { return nil }
      if let first = state.waiters.popFirst() { return first }
      if state.elements.count < capacity {
        state.elements.append(element)
      } else {
        merge(&state.elements[state.elements.endIndex - 1], element)
      }
      return nil
    }
    waiter?.finish(.success(element))
  }

  /// Ends the sequence after the stored elements, and disposes the source. The first waiting task, or the next call of
  /// `next`, throws `error`.
  func end(throwing error: (any Error)? = nil) {
    let waiters: ArraySlice<Resumption<Element?>> = state.withLock { state in
      guard !state.isOver else { return [] }
      state.isOver = true
      state.error = state.waiters.isEmpty ? error : nil  // if a task waits, the loop below gives the error to it
      defer { state.waiters = [] }
      return state.waiters
    }
    for (index, waiter) in waiters.enumerated() {  // only the first one gets the error
      waiter.finish(index == 0 ? error.map { .failure($0) } ?? .success(nil) : .success(nil))
    }
    source.dispose()
  }

  /// Removes and returns the oldest element; suspends the task until there is one. Returns `nil` at the end, or throws
  /// the error of `end` once.
  /// A cancellation of the task ends the sequence.
  func next(isolation: isolated (any Actor)? = #isolation) async throws -> Element? {
    if let taken = state.withLock({ $0.take() }) { return try taken.get() }
    let resumption = Resumption<Element?>()
    return try await withTaskCancellationHandler {
      try await resumption.outcome(isolation: isolation) {
        // checks again: an element may have arrived since the check above, and it would not resume this task
        let taken: Result<Element?, any Error>? = state.withLock { state in
          let taken = state.take()
          if taken == nil { state.waiters.append(resumption) }
          return taken
        }
        if let taken { resumption.finish(taken) }
      }
    } onCancel: {
      end()
    }
  }
}

/// The reference of a sequence's consumer to its buffer. The release of this object ends the sequence, and so stops the
/// source.
final class ElementReader<Element: Sendable>: Sendable {
  let buffer: ElementBuffer<Element>

  init(_ buffer: ElementBuffer<Element>) { self.buffer = buffer }

  deinit { buffer.end() }
}
