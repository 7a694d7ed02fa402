// ActionContext.swift: AX1 to AX4.

internal import CScheduler

private final class State: @unchecked Sendable {
  let first = HandScheduler(), second = HandScheduler(), third = HandScheduler()
  let gone = Note(), runs = Note(), childRuns = Note(), leafRuns = Note(), handled = Note(), taken = Note()
  var action: (any Disposable)?
  var context: ActionContext?
  var interrupt: (any Disposable)?
  var ended: Trace?
}
nonisolated(unsafe) private var state: State!

private func start() -> State {
  state = State()
  return state
}

/// Schedules `body` with a context, and with captures that are counted.
private func submit(_ body: @escaping @Sendable (ActionContext) -> Void) {
  let runs = state.runs, held = capturing(state.gone)
  state.action = state.first.schedule { context in
    held()
    runs.value += 1
    body(context)
  }
}

private func over() {
  state.first.core.discard()
  state.second.core.discard()
  state.third.core.discard()
  expect(state.runs.value <= 1, "it runs once at most")
  expect(state.gone.value == 1, "its captures are gone, once")
  expect(state.handled.value <= 1, "its handler is called once at most")
  state = nil
}

// MARK: an action and its handlers

/// A handler is taken back, and its call waited for, before the data that it uses is released.
private func handling() {
  let state = start()
  let handled = state.handled
  submit { context in
    let interrupt = context.onDispose { handled.value += 1 }
    interrupt.disposeAndWait()
    handled.value += 0  // ordered after the call, if there was one
    expect(handled.value <= 1, "once")
  }
}

private func takenBackBesideDisposal() {
  handling()
  let state = state!
  spawn { state.first.core.perform() }
  spawn { state.action!.dispose() }
}

private func takenBackBesideTwo() {
  takenBackBesideDisposal()
  let state = state!
  spawn { state.action!.dispose() }
}

/// A handler that the end takes back: none is called after that.
private func endedBesideDisposal() {
  let state = start()
  let handled = state.handled
  submit { state.interrupt = $0.onDispose(capturing(state.taken) { handled.value += 1 }) }
  spawn { state.first.core.perform() }
  spawn {
    state.action!.disposeAndWait()
    expect(handled.value <= 1, "once")
  }
}

private func takenBack() {
  expect(state.interrupt?.isDisposed ?? true, "it was called, or taken back by the end")
  expect(state.taken.value == state.runs.value, "its captures are gone, though its token is kept")
  over()
}

/// Cancelled before its handler is added, and then no other comes in between.
private func addedToCancelled() {
  let state = start()
  let handled = state.handled
  submit { context in
    context.dispose()
    context.onDispose { handled.value += 1 }
    expect(handled.value == 1, "called at once")
  }
  spawn { state.first.core.perform() }
  spawn { state.action!.dispose() }
}

private func dropped() {
  let state = start()
  submit { _ in }
  spawn { state.first.core.discard() }
  spawn { state.action!.disposeAndWait() }
}

private func neverRan() {
  expect(state.runs.value == 0, "it has not run")
  over()
}

/// The action is never performed: the disposal releases its captures.
private func neverPerformed() {
  let state = start()
  submit { _ in }
  spawn { state.action!.dispose() }
}

private func capturesAreGone() {
  expect(state.gone.value == 1, "its captures went by the disposal")
  neverRan()
}

/// Two threads dispose the action. When either disposal has returned, the action does not begin any more.
private func performedAfterOne() {
  let state = start()
  submit { _ in }
  spawn { state.action!.dispose() }
  spawn {
    state.action!.dispose()
    state.first.core.perform()
  }
}

/// Calls each action at once, and returns a token with a capture.
private struct InPlace: ImmediateSchedulerType {
  let held: @Sendable () -> Void

  @discardableResult
  func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    action()
    return AnonymousDisposable(held)
  }
}

/// A context that outlives its action does not keep the action's token.
private func keptAfterItsEnd() {
  let state = start()
  let scheduler = InPlace(held: capturing(state.gone))
  state.action = scheduler.schedule { (context: ActionContext) in state.context = context }
  spawn { state.context!.dispose() }
}

// MARK: actions scheduled through a context

/// The action schedules one on the second hand; that one a leaf on the third.
private func tree() {
  let state = start()
  let childRuns = state.childRuns, leafRuns = state.leafRuns
  submit { context in
    context.schedule(on: state.second) { child in
      childRuns.value += 1
      child.schedule(on: state.third) { _ in leafRuns.value += 1 }
    }
  }
}

private func childrenBesideDisposal() {
  tree()
  let state = state!
  spawn {
    state.first.core.perform()
    state.second.core.perform()
  }
  spawn {
    state.action!.disposeAndWait()
    state.third.core.perform()  // an action that it scheduled by then is cancelled
    expect(state.leafRuns.value == 0, "nothing of the tree begins after that")
  }
}

private func childrenElsewhere() {
  tree()
  let state = state!
  spawn { state.first.core.perform() }
  spawn { state.second.core.perform() }
  spawn { state.action!.disposeAndWait() }
}

/// The action has ended, its child has, and the leaf waits.
private func leafOfEnded() {
  tree()
  let state = state!
  state.first.core.perform()
  state.second.core.perform()
  spawn { state.third.core.perform() }
  spawn {
    state.action!.disposeAndWait()
    let before = state.leafRuns.value
    expect(before <= 1, "it runs once at most")
  }
}

/// The children of a kept context end one after the other, beside its disposal.
private func leavingBesideDisposal() {
  let state = start()
  let childRuns = state.childRuns
  submit { context in
    state.context = context
    context.schedule(on: state.second) { _ in }
    context.schedule(on: state.third) { _ in childRuns.value += 1 }
  }
  state.first.core.perform()
  spawn { state.second.core.perform() }
  spawn { state.third.core.perform() }
  spawn { state.context!.disposeAndWait() }
}

/// Scheduled through an ended context to which there is no other reference.
private func belowEnded() {
  let state = start()
  let childRuns = state.childRuns
  submit { _ in }
  state.first.core.perform()
  var ended = state.action as? ActionContext
  state.action = nil
  state.ended = Trace(ended!)
  state.interrupt = ended!.schedule(on: state.second) { _ in childRuns.value += 1 }
  ended = nil
  spawn { state.second.core.perform() }
  spawn { state.interrupt!.dispose() }
}

private func endedIsGone() {
  expect(state.ended!.isGone, "what has ended is not kept by what was below it")
  state.interrupt = nil
  over()
}

/// Scheduled through a context that another thread disposes meanwhile.
private func addedBesideDisposal() {
  let state = start()
  let childRuns = state.childRuns
  submit { state.context = $0 }
  state.first.core.perform()
  spawn { state.context!.schedule(on: state.second) { _ in childRuns.value += 1 } }
  spawn { state.context!.dispose() }
}

/// Returns from a submission when the action has begun.
private struct SlowHand: ImmediateSchedulerType {
  let hand: HandScheduler, submitted = ActionGroup(entered: 1), begun = ActionGroup(entered: 1)

  @discardableResult
  func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    let token = hand.schedule(action)
    submitted.leave()
    begun.wait()
    return token
  }
}

/// Waited for while it runs, and its submission has not returned.
private func waitedBesideSubmission() {
  let state = start()
  let childRuns = state.childRuns, taken = state.taken, slow = SlowHand(hand: state.second)
  submit { state.context = $0 }
  state.first.core.perform()
  spawn {
    state.context!.schedule(on: slow) { child in
      childRuns.value += 1
      slow.begun.leave()
      _ = child.isCancelled  // another thread may run here
      expect(taken.value == 0, "it does not run after the wait")
    }
  }
  spawn {
    slow.submitted.wait()
    state.second.core.perform()
  }
  spawn {
    slow.begun.wait()
    state.context!.disposeAndWait()
    taken.value = 1
  }
}

private func addedIsCancelled() {
  state.second.core.perform()
  expect(state.childRuns.value == 0, "it is cancelled, whichever came first")
  over()
}

let contextChecks = [
  Check("context: a handler taken back beside a disposal", takenBackBesideDisposal, over),  // AX1 AX4
  Check("context: a handler taken back beside two disposals", takenBackBesideTwo, over),  // AX1
  Check("context: its end beside a disposal", endedBesideDisposal, takenBack),  // AX1 AX3
  Check("context: a handler added to a cancelled context", addedToCancelled, over),  // AX1
  Check("context: dropped beside a disposal", dropped, neverRan),  // AX3
  Check("context: captures go by a disposal", neverPerformed, capturesAreGone),  // AX2
  Check("context: performed after one of two disposals", performedAfterOne, neverRan),  // AX2
  Check("context: kept after its end", keptAfterItsEnd, capturesAreGone),  // AX3
  Check("context: its tree beside a disposal", childrenBesideDisposal, over),  // AX2
  Check("context: its tree elsewhere", childrenElsewhere, over),  // AX2 AX3
  Check("context: a leaf of an ended context", leafOfEnded, over),  // AX2 AX3
  Check("context: children leave beside a disposal", leavingBesideDisposal, over),  // AX3
  Check("context: below an ended context", belowEnded, endedIsGone),  // AX3
  Check("context: a child added beside a disposal", addedBesideDisposal, addedIsCancelled),  // AX2
  Check("context: a wait beside a submission", waitedBesideSubmission, over),  // AX4
]
