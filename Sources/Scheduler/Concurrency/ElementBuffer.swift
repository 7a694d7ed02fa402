/// A buffer between a source and the tasks that iterate over its sequence. It stores elements that arrive while no task waits.
/// `AsyncStream` is not used, because it resumes its task inside the job that yields: see ``Resumption``.
final class ElementBuffer<Element: Sendable>: Sendable {
  private struct State: Sendable {
    var elements: ArraySlice<Element> = []
    /// The tasks in `next`, oldest first. Empty while there are elements.
    var waiters: ArraySlice<Resumption<Element?>> = []
    var isOver = false  // the source has ended
    var error: (any Error)?  // thrown by one call of `next` after the stored elements

    /// Returns the outcome of a call of `next`: an element, the error, or a nil element at the end. Returns `nil` if the call must wait.
    mutating func take() -> Result<Element?, any Error>? {
      if let first = elements.popFirst() { return .success(first) }
      guard isOver else { return nil }
      return error.take().map { .failure($0) } ?? .success(nil)
    }
  }

  private let state = Protected(State())
  private let capacity: Int
  private let merge: @Sendable (_ last: inout Element, _ element: Element) -> Void
  private let source = SingleAssignmentDisposable()  // of the elements: disposed at the end

  /// - Parameters:
  ///   - capacity: how many elements to store, at least 1.
  ///   - merge: merges an element that arrives while the buffer is full into `last`, the newest stored one. Called under the buffer's lock.
  init(capacity: Int, merge: @escaping @Sendable (_ last: inout Element, _ element: Element) -> Void) {
    self.capacity = capacity
    self.merge = merge
  }

  /// Disposes `source` when the sequence ends, or at once if it has ended.
  func follow(_ source: any Disposable) { self.source.setDisposable(source) }

  /// Resumes the task that has waited longest with `element`, or stores `element` if no task waits. Does nothing after the end.
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

  /// Ends the sequence after the stored elements, and disposes the source. The first waiting task, or the next call of `next`, throws `error`.
  func end(throwing error: (any Error)? = nil) {
    let waiters: ArraySlice<Resumption<Element?>> = state.withLock { state in
      guard !state.isOver else { return [] }
      state.isOver = true
      state.error = state.waiters.isEmpty ? error : nil  // a waiting task gets it now
      defer { state.waiters = [] }
      return state.waiters
    }
    for (index, waiter) in waiters.enumerated() {  // only the first one gets the error
      waiter.finish(index == 0 ? error.map { .failure($0) } ?? .success(nil) : .success(nil))
    }
    source.dispose()
  }

  /// Suspends the task until there is an element, removes it from the buffer, and returns it. Returns `nil` at the end. A cancellation of the task
  /// ends the sequence.
  func next(isolation: isolated (any Actor)? = #isolation) async throws -> Element? {
    if let taken = state.withLock({ $0.take() }) { return try taken.get() }
    let resumption = Resumption<Element?>()
    return try await withTaskCancellationHandler {
      try await resumption.outcome(isolation: isolation) {
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

/// The consumer's reference to a buffer. Its release ends the sequence.
final class ElementReader<Element: Sendable>: Sendable {
  let buffer: ElementBuffer<Element>

  init(_ buffer: ElementBuffer<Element>) { self.buffer = buffer }

  deinit { buffer.end() }
}
