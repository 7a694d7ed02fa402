/// Elements on their way to the tasks that iterate over a sequence. What comes while no task waits is kept.
///
/// In place of an `AsyncStream`, which resumes its task inside of the job that yields: see ``Resumption``.
final class ElementBuffer<Element: Sendable>: Sendable {
  private struct State: Sendable {
    var elements: ArraySlice<Element> = []
    /// Only while there are no elements.
    var waiters: ArraySlice<Resumption<Element?>> = []
    var isOver = false
    /// What the next call throws after the last element.
    var error: (any Error)?

    /// Returns what a call of `next` gives; `nil`: it has to wait.
    mutating func take() -> Result<Element?, any Error>? {
      if let first = elements.popFirst() { return .success(first) }
      guard isOver else { return nil }
      return error.take().map { .failure($0) } ?? .success(nil)
    }
  }

  private let state = Protected(State())
  private let capacity: Int
  private let source = SingleAssignmentDisposable()

  /// - Parameter capacity: how many elements to keep: the newest.
  init(capacity: Int = .max) { self.capacity = capacity }

  /// Disposes `source` at the end, or at once if that has passed.
  func follow(_ source: any Disposable) { self.source.setDisposable(source) }

  /// Gives `element` to the task that has waited longest, or keeps it. Does nothing after the end.
  func put(_ element: Element) {
    let waiter: Resumption<Element?>? = state.withLock { state in
      guard !state.isOver else { return nil }
      if let first = state.waiters.popFirst() { return first }
      if state.elements.count == capacity { state.elements.removeFirst() }
      state.elements.append(element)
      return nil
    }
    waiter?.finish(.success(element))
  }

  /// Ends the sequence behind the elements that it has, and disposes the source.
  func end(throwing error: (any Error)? = nil) {
    let waiters: ArraySlice<Resumption<Element?>> = state.withLock { state in
      guard !state.isOver else { return [] }
      state.isOver = true
      state.error = state.waiters.isEmpty ? error : nil
      defer { state.waiters = [] }
      return state.waiters
    }
    for (index, waiter) in waiters.enumerated() {
      waiter.finish(index == 0 ? error.map { .failure($0) } ?? .success(nil) : .success(nil))
    }
    source.dispose()
  }

  /// Suspends the task until there is an element, and takes it; `nil` at the end, which a cancellation of the task brings about.
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

/// The consumer's side of a buffer. When it is gone, the sequence ends.
final class ElementReader<Element: Sendable>: Sendable {
  let buffer: ElementBuffer<Element>

  init(_ buffer: ElementBuffer<Element>) { self.buffer = buffer }

  deinit { buffer.end() }
}
