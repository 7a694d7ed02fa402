/// An event that any thread tells of, and one scheduler hears of: what comes while that is busy is merged into one call.
///
/// ```swift
/// let progress = MergingEvent(on: MainScheduler.asyncInstance, .sum) { show(bytes: $0) }
/// progress.merge(4_096)  // from any thread, as often as it likes
/// ```
///
/// 1. The handler is an action of the scheduler. It is told all that was merged since the last call, never 0, and never by two threads at a time.
/// 2. Once ``dispose()`` has returned the handler does not begin any more.
/// 3. When the scheduler is stopped, what was merged is gone, as its actions are.
///
/// For a task there is ``sequence(_:)``. The idea is Dispatch's, of data-add and data-or sources.
public final class MergingEvent: Disposable, @unchecked Sendable {
  // Unchecked, because the compiler does not see that the protocol's value is Sendable in an existential: all is constant, or under a lock.
  /// How values become one.
  public enum Rule: Hashable, Sendable {
    /// Their sum, at most `UInt64.max`.
    case sum
    /// Their bits.
    case union

    func merged(_ value: UInt64, with other: UInt64) -> UInt64 {
      let (sum, isOver) = value.addingReportingOverflow(other)
      return self == .union ? value | other : isOver ? .max : sum
    }
  }

  private struct State {
    var handler: (@Sendable (UInt64) -> Void)?
    var value: UInt64 = 0
    var isQueued = false
    /// `tell` is submitting itself again. `isAgain`: the submission has run meanwhile, and the outer `tell` goes on in its place.
    var isSubmitting = false, isAgain = false
  }

  private let counted = CountedDisposable()
  private let scheduler: any ImmediateSchedulerType
  private let rule: Rule
  private let state: Protected<State>

  /// Makes one that has not come.
  ///
  /// - Parameters:
  ///   - scheduler: what calls the handler.
  ///   - rule: how values become one.
  ///   - handler: told what was merged.
  public init(
    on scheduler: any ImmediateSchedulerType, _ rule: Rule, _ handler: @escaping @Sendable (UInt64) -> Void
  ) {
    self.scheduler = scheduler
    self.rule = rule
    state = Protected(State(handler: handler))
  }

  /// Merges `value` into what the handler is told next. 0 does nothing. Any thread.
  public func merge(_ value: UInt64) {
    let submits = state.withLock { state in
      guard state.handler != nil, value != 0 else { return false }
      state.value = rule.merged(state.value, with: value)
      defer { state.isQueued = true }
      return !state.isQueued
    }
    if submits { submit() }
  }

  private func submit() {
    _ = scheduler.schedule(
      { self.tell() }, isTold: false, onDrop: { _ in self.state.withLock { ($0.value, $0.isQueued) = (0, false) } })
  }

  /// Where the scheduler runs it inside of its own submission, the outer one goes on: the stack stays flat.
  private func tell() {
    let isInside = state.withLock { state in
      if state.isSubmitting { state.isAgain = true }
      return state.isSubmitting
    }
    while !isInside {
      let (handler, value) = state.withLock { state in
        defer { state.value = 0 }
        return (state.handler, state.value)
      }
      if value != 0 { handler?(value) }
      let hasMore = state.withLock { state in
        state.isQueued = state.value != 0
        state.isSubmitting = state.isQueued
        state.isAgain = false
        return state.isQueued
      }
      guard hasMore else { return }
      submit()
      let isAgain = state.withLock { state in
        state.isSubmitting = false
        return state.isAgain
      }
      guard isAgain else { return }
    }
  }

  public var isDisposed: Bool { state.withLock { $0.handler == nil } }

  public func dispose() {
    let held = state.withLock { state in
      state.value = 0
      return state.handler.take()
    }
    _ = held  // let go of outside of the lock
  }
}
