// Calls a closure repeatedly, by one thread at a time, until it is over.
//
// States, under the lock
//   inside    the thread that calls or releases the closure; 0: none
//   isOver    final
//   owned     the owner's state, which the same lock guards
// Invariants
//   RC1  One thread at a time is inside. No thread enters after the call is over, or if the owner's `isAdmitted` returns false.
//   RC2  Once the call is over, the closure is released outside the lock: by the thread inside if there is one, else by `finish` before it returns.
//   RC3  A waiter returns when no other thread is inside.
// Orderings: the lock's; for the wait that of Occurrence.swift, OC1.
// Checked by: "ticks thread their state, and never overlap", "disposing releases the closure, and no tick begins after it",
//   "disposeAndWait returns after the running action has ended, whichever thread drives virtual time",
//   "a periodic action is suspended, resumed and disposed by several threads".
// Models: swift/virtual/virtual.swift.

internal import CScheduler

/// A closure that one thread at a time may call, until ``finish(if:)``.
final class RepeatedCall<Call: Sendable, Owned: Sendable>: Sendable {
  private struct State {
    var call: Call?
    var inside: UInt = 0
    var isAwaited = false  // another thread waits until `inside` is 0
    var isOver = false
    var owned: Owned
  }

  private let state: Protected<State>
  private let ends = Occurrence()  // happens when an awaited thread has left

  init(_ call: Call, _ owned: Owned) {
    state = Protected(State(call: call, owned: owned))
    Counted.closures(1)  // for the diagnostic count
  }

  deinit { finish() }

  var isOver: Bool { state.withLock { $0.isOver } }

  /// Calls `body` under the lock, with the owner's state and whether a thread is inside. If the call is over, returns nil and does not call `body`.
  func change<Result>(_ body: (inout Owned, _ isInside: Bool) -> Result?) -> Result? {
    state.withLock { $0.isOver ? nil : body(&$0.owned, $0.inside != 0) }
  }

  /// Enters, and returns the closure: the caller calls the closure, then `leave`. Returns nil if a thread is inside, if the call is over, or if
  /// `isAdmitted` returns false.
  func enter(if isAdmitted: (inout Owned) -> Bool = { _ in true }) -> Call? {
    state.withLock { state in
      guard state.inside == 0, !state.isOver, let call = state.call, isAdmitted(&state.owned) else { return nil }
      state.inside = csched_swift_thread_()  // RC1: one thread inside
      return call
    }
  }

  /// Makes no thread `inside`. If the call is over, releases the closure first. Calls `finalStep` under the lock, and returns its
  /// result. Requires: the caller has released its reference to the closure.
  @discardableResult
  func leave<Result>(_ finalStep: (inout Owned) -> Result) -> Result {
    while true {
      let (call, result, isAwaited) = state.withLock { state -> (Call?, Result?, Bool) in
        if state.isOver, let call = state.call.take() { return (call, nil, false) }  // RC2: released outside the lock
        defer { (state.inside, state.isAwaited) = (0, false) }
        return (nil, finalStep(&state.owned), state.isAwaited)
      }
      _ = consume call
      guard let result else {  // the closure was released: check again, because the lock was released too
        Counted.closures(-1)  // for the diagnostic count
        continue
      }
      if isAwaited { ends.happen() }
      return result
    }
  }

  /// Ends the call for good, if `condition` returns true. Releases the closure here, or in `leave` if a thread is inside.
  func finish(if condition: (inout Owned) -> Bool = { _ in true }) {
    let isInside = state.withLock { state in
      guard !state.isOver, condition(&state.owned) else { return false }
      state.isOver = true
      guard state.inside == 0 else { return false }
      state.inside = csched_swift_thread_()
      return true
    }
    if isInside { leave { _ in } }  // RC2: leave releases the closure
  }

  /// Waits until no other thread is inside.
  func awaitOthers() {
    while let mark = markOfAnother() { ends.wait(since: mark) }  // RC3: until no other thread is inside
  }

  /// Returns the mark for `ends.wait`, or nil if no other thread is inside.
  private func markOfAnother() -> UInt32? {
    state.withLock { state in
      guard state.inside != 0, state.inside != csched_swift_thread_() else { return nil }
      state.isAwaited = true
      return ends.mark
    }
  }
}
