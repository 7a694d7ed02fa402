// Holds a closure that one thread at a time may call, repeatedly, until `finish` releases it.
//
// States, under the lock
//   inside    the thread that calls or releases the closure; 0: none
//   isOver    `finish` has ended the call; final
//   owned     the state of the object that owns the RepeatedCall, for example the schedule of a PeriodicAction; the
//             same lock guards it
// Invariants
//   RC1  One thread at a time is inside. No thread enters after the call is over, or if the owner's `isAdmitted`
//        returns false.
//   RC2  Once the call is over, the closure is released outside the lock: by the thread inside if there is one, else by
//        `finish` before it returns.
//   RC3  A waiter returns when no other thread is inside.
// Orderings: the lock's; for the wait that of Occurrence.swift, OC1.
// Models: swift/virtual/virtual.swift.

internal import CScheduler

/// A closure that one thread at a time may call, until ``finish(if:)``.
final class RepeatedCall<Call: Sendable, Owned: Sendable>: Sendable {
  private struct State {
    var call: Call?  // the closure; nil when it has been released
    var inside: UInt = 0  // the thread that calls or releases the closure; 0: none
    var isAwaited = false  // another thread sleeps in `awaitOthers`
    var isOver = false
    var owned: Owned  // the owner's state
  }

  private let state: Protected<State>
  private let threadLeft = Occurrence()  // happens when a thread has left and another waits

  init(_ call: Call, _ owned: Owned) {
    state = Protected(State(call: call, owned: owned))
    Counted.closures(1)  // for the diagnostic count
  }

  deinit { finish() }
  var isOver: Bool { state.withLock { $0.isOver } }

  /// Calls `body` under the lock, with the owner's state and whether a thread is inside. If the call is over, returns
  /// nil and does not call `body`.
  func change<Result>(_ body: (inout Owned, _ isInside: Bool) -> Result?) -> Result? {
    state.withLock { $0.isOver ? nil : body(&$0.owned, $0.inside != 0) }
  }

  /// Makes this thread the one inside, and returns the closure: the caller calls the closure, then `leave`. Returns nil
  /// if a thread is inside already, if the call is over, or if `isAdmitted` returns false.
  func enter(if isAdmitted: (inout Owned) -> Bool = { _ in true }) -> Call? {
    state.withLock { state in
      guard state.inside == 0, !state.isOver, let call = state.call, isAdmitted(&state.owned) else { return nil }
      // RC1: set under the lock that checked it, so no second thread enters
      state.inside = csched_swift_thread_number_()
      return call
    }
  }

  /// Ends what `enter` or `finish` began: sets `inside` to 0. If the call is over, releases the closure first. Calls
  /// `finalStep` under the lock, and returns its result. Requires: the caller has released its reference to the
  /// closure.
  @discardableResult
  func leave<Result>(_ finalStep: (inout Owned) -> Result) -> Result {
    while true {
      let (call, result, isAwaited) = state.withLock { state -> (Call?, Result?, Bool) in
        // RC2: its captures may run user code
        if state.isOver, let call = state.call.take() { return (call, nil, false) }
        defer { (state.inside, state.isAwaited) = (0, false) }
        return (nil, finalStep(&state.owned), state.isAwaited)
      }
      _ = consume call  // outside the lock, and while this thread is still inside
      guard let result else {  // the closure was released: repeat, to leave under the lock
        Counted.closures(-1)  // for the diagnostic count
        continue
      }
      if isAwaited { threadLeft.signal() }  // wakes the threads in `awaitOthers`
      return result
    }
  }

  /// Ends the call for good, if `condition` returns true. Releases the closure here, or in `leave` if a thread is
  /// inside.
  func finish(if condition: (inout Owned) -> Bool = { _ in true }) {
    let hasEntered = state.withLock { state in
      guard !state.isOver, condition(&state.owned) else { return false }
      state.isOver = true
      guard state.inside == 0 else { return false }  // RC2: the thread inside releases the closure, in its `leave`
      state.inside = csched_swift_thread_number_()  // waiters wait until this thread has released the closure
      return true
    }
    if hasEntered { leave { _ in } }  // RC2: `leave` releases the closure outside the lock
  }

  /// Waits until no other thread is inside.
  func awaitOthers() {
    // RC3: checks again, because `wait` may return early
    while let mark = markOfAnother() { threadLeft.wait(since: mark) }
  }

  /// Announces a wait, so that `leave` wakes this thread. Returns the number of events of `threadLeft` so far; nil if
  /// no other thread is inside.
  private func markOfAnother() -> UInt32? {
    state.withLock { state in
      guard state.inside != 0, state.inside != csched_swift_thread_number_() else { return nil }
      state.isAwaited = true
      return threadLeft.mark
    }
  }
}
