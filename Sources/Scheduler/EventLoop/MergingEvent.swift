/// An event that any thread can raise, and one scheduler handles. Values that arrive while the scheduler is busy are
/// merged for one call.
///
/// ```swift
/// let progress = MergingEvent(on: MainScheduler.asyncInstance, .sum) { show(bytes: $0) }
/// progress.merge(4_096)  // from any thread, any number of times
/// ```
///
/// 1. The handler is an action of the scheduler. It gets the values merged since the previous call, never 0. It never
///    runs on two threads at a time.
/// 2. Once ``dispose()`` has returned, the handler does not start any more. ``Disposable/disposeAndWait()`` also waits
///    for its end.
/// 3. When the scheduler is stopped, it drops the merged value, like its actions.
///
/// For a task, use ``sequence(_:)``. The idea comes from Dispatch's data-add and data-or sources.
public final class MergingEvent: Disposable, @unchecked Sendable {
  // Unchecked, because the compiler does not infer that the existential `scheduler` is Sendable. All properties are
  // constant, or under a lock.
  /// How values are merged.
  public enum Rule: Hashable, Sendable {
    /// The sum of the values, at most `UInt64.max`.
    case sum
    /// The bitwise OR of the values.
    case union

    func merged(_ value: UInt64, with other: UInt64) -> UInt64 {
      let (sum, hasOverflowed) = value.addingReportingOverflow(other)
      return self == .union ? value | other : hasOverflowed ? .max : sum
    }
  }

  private struct State {
    var value: UInt64 = 0  // merged, and not delivered yet
    var isQueued = false  // an action that calls `deliver` waits or runs
    /// `isSubmitting`: `deliver` is resubmitting itself. `runsAgain`: that action ran before `submit` returned, so the
    /// outer `deliver` must loop.
    var isSubmitting = false, runsAgain = false
  }

  private let counted = CountedDisposable()  // for the diagnostic count of disposables
  private let scheduler: any ImmediateSchedulerType
  private let rule: Rule
  private let handler: RepeatedCall<@Sendable (UInt64) -> Void, State>

  /// Creates an event without a value.
  ///
  /// - Parameters:
  ///   - scheduler: the scheduler that calls the handler.
  ///   - rule: how values are merged.
  ///   - handler: called with the merged value.
  public init(
    on scheduler: any ImmediateSchedulerType, _ rule: Rule, _ handler: @escaping @Sendable (UInt64) -> Void
  ) {
    self.scheduler = scheduler
    self.rule = rule
    self.handler = RepeatedCall(handler, State())
  }

  /// Merges `value` into the value for the next call of the handler. 0 does nothing. Any thread.
  public func merge(_ value: UInt64) {
    if value == 0 { return }
    let submits = handler.change { state, _ in  // nil: disposed
      state.value = rule.merged(state.value, with: value)
      defer { state.isQueued = true }  // runs after the return value was read
      return !state.isQueued  // a queued action delivers this value too
    }
    if submits == true { submit() }
  }

  /// Submits an action that calls `deliver`. If the scheduler drops the action, drops the merged value too.
  private func submit() {
    _ = scheduler.schedule(
      { self.deliver() }, callerReportsRefusal: false,  // a debug build prints a line for a refusal
      onDrop: { _ in self.handler.change { state, _ in (state.value, state.isQueued) = (0, false) } })
  }

  /// Calls the handler with the merged value, and resubmits itself if more values have arrived. If the scheduler runs
  /// that action before `submit` returns, the inner call only sets `runsAgain`, and the outer call loops: the stack
  /// does not grow.
  private func deliver() {
    // true: another call of `deliver` has not returned from its `submit`; nil: disposed
    let isInner = handler.change { state, _ in
      if state.isSubmitting { state.runsAgain = true }
      return state.isSubmitting
    }
    while isInner == false {
      // not entered: the event was disposed meanwhile, or nothing is merged
      let hasMore = enterAndCall() ? handler.leave(Self.endCall) : handler.change { state, _ in Self.endCall(&state) }
      guard hasMore == true else { return }
      submit()
      let runsAgain = handler.change { state, _ in
        state.isSubmitting = false
        return state.runsAgain
      }
      guard runsAgain == true else { return }  // the submitted action calls `deliver` later
    }
  }

  /// Calls the handler with the merged value, unless that is 0. Returns whether it did; then the caller calls `leave`.
  /// Not inlined, so that its reference to the handler is gone before that.
  @inline(never)
  private func enterAndCall() -> Bool {
    var value: UInt64 = 0
    let call = handler.enter { state in
      swap(&value, &state.value)
      return value != 0
    }
    call?(value)
    return call != nil
  }

  /// Prepares the next call, if values were merged during this one. Returns whether `deliver` must submit it.
  private static func endCall(_ state: inout State) -> Bool {
    state.isQueued = state.value != 0
    state.isSubmitting = state.isQueued
    state.runsAgain = false  // an inner call may set it during `submit`
    return state.isQueued
  }

  public var isDisposed: Bool { handler.isOver }

  public func dispose() {
    handler.finish { state in
      state.value = 0
      return true
    }
  }

  public func disposeAndWait() {
    dispose()
    handler.awaitOthers()
  }
}
