/// The state of a ResultGroup. It does not depend on the type of the results: each ended action holds its own. So no
/// operation here looks up a generic type at run time.
final class ResultQueue: Sendable {
  /// An action that has ended.
  enum Ended: Sendable {
    case ran(GroupMember)  // a ResultMember, which has the result
    case failed(any Error)  // it did not run
  }

  private struct State: Sendable {
    var pending = 0  // the number of actions that have not produced their result
    var results: ArraySlice<Ended> = []  // not received yet, the oldest first
    // the tasks that wait in `next`, in order of arrival; empty while there are results
    var waiters = FairList<Waiter>()

    // `next` has a result, or returns nil, because no action is unfinished
    var canReturn: Bool { !results.isEmpty || pending == 0 }
  }

  private let state = Protected(State())
  private let changed = UnfairLock.Condition()  // signalled when a thread that blocks in `next` can return
  let members = ActionGroup()  // the unfinished actions, for `cancelAll`

  var pendingCount: Int { state.read { $0.pending } }
  var isEmpty: Bool { state.read { $0.pending == 0 && $0.results.isEmpty } }

  /// Counts an action that has not ended. `end` is called once for it.
  func begin() { state.withLock { $0.pending += 1 } }

  /// Called once for each action, when it has ended. Resumes the task that has waited longest with `ended`, or stores
  /// `ended` if no task waits. If all actions have ended, resumes the other waiting tasks with nil.
  func end(_ ended: Ended) {
    let (receiver, others, isLast) = state.withLock { state in
      state.pending -= 1
      var receiver: Waiter?  // the task that gets `ended`
      while receiver == nil, let first = state.waiters.popFirst() {
        if first.claim() { receiver = first }  // false: the task was cancelled, and is not given the result
      }
      if receiver == nil { state.results.append(ended) }
      let isLast = state.pending == 0  // no action is unfinished
      var others: [Waiter] = []  // waiters for which no result remains
      while isLast, let other = state.waiters.popFirst() { if other.claim() { others.append(other) } }
      return (receiver, others, isLast)
    }
    receiver?.finish(.success(ended))
    for other in others { other.finish(.success(nil)) }
    // the last result: all blocked threads can return; a stored result: one can
    if isLast { changed.broadcast() } else if receiver == nil { changed.signal() }
  }

  /// Blocks until there is a result. Returns nil when no action is unfinished and no result remains.
  func next() -> Ended? { state.withLock(on: changed, when: \.canReturn) { $0.results.popFirst() } }

  /// As `next()`, until `deadline` at the latest. Returns nil at the deadline, and `.some(nil)` when no result remains.
  func next(until deadline: MonotonicTime) -> Ended?? {
    state.withLock(on: changed, until: deadline, when: \.canReturn) { $0.results.popFirst() }
  }

  /// Suspends the task until there is a result. Returns nil when no result remains, and as soon as the task is
  /// cancelled.
  func next(isolation: isolated (any Actor)?) async -> Ended? {
    let waiter = Waiter()
    return await withTaskCancellationHandler {
      await waiter.outcome(isolation: isolation) { enqueue(waiter) }
    } onCancel: {  // resumes the task with nil, unless another thread gives it a result; then removes it from `waiters`
      if waiter.claim() { waiter.finish(.success(nil)) }
      state.withLock { state in
        if let entry = waiter.entry.take() { state.waiters.remove(entry) }
      }
    }
  }

  /// Adds `waiter` to the waiting tasks. If `next` can return, resumes it at once with the oldest result, or with nil
  /// if none remains.
  private func enqueue(_ waiter: Waiter) {
    let found: Ended?? = state.withLock { state in
      guard state.canReturn else {
        // over: cancelled already. The cancellation may have looked for the entry before this, so none is added.
        if !waiter.isOver { waiter.entry = state.waiters.append(waiter) }
        return nil
      }
      return waiter.claim() ? .some(state.results.popFirst()) : nil  // nil: cancelled, so no result is removed
    }
    if let found { waiter.finish(.success(found)) }
  }

  /// A task that is suspended in `next`. The thread that wins `claim` resumes it: one that ends an action, or the
  /// task's cancellation.
  private final class Waiter: @unchecked Sendable {
    // Unchecked, because of `entry`: the lock of the queue's state guards it.
    private let resumption = Resumption<Ended?>()
    @exclusivity(unchecked) var entry: Int?  // the key in `waiters`, while listed

    var isOver: Bool { resumption.isOver }
    func claim() -> Bool { resumption.claim() }  // true for the first caller, which must then call `finish`
    func outcome(isolation: isolated (any Actor)?, _ begin: () -> Void) async -> Ended? {
      (try? await resumption.outcome(isolation: isolation, begin)) ?? nil  // `finish` is never given an error
    }
    func finish(_ outcome: Result<Ended?, any Error>) { resumption.finish(outcome) }
  }
}
