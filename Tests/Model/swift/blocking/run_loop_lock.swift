// RunLoopLock.swift: RL1 to RL6.

internal import CScheduler
internal import ModelEngine

private final class State: @unchecked Sendable {
  let lock: RunLoopLock, second = RunLoopLock()
  let note = Note(), gone = Note(), order = Note()
  var wasStopped = false
  var isAccepted = false
  init(timeout: Duration?) { lock = RunLoopLock(timeout: timeout) }
}
nonisolated(unsafe) private var state: State!

private func start(timeout: Duration? = nil) -> State {
  state = State(timeout: timeout)
  return state
}

private func stopAgainstRun() {
  let state = start()
  spawn {
    state.wasStopped = state.lock.wait()
    expect(state.note.value == 1, "what was before the stop")
  }
  spawn {
    state.note.value = 1
    state.lock.stop()
    state.lock.stop()
  }
}

private func isStopped() {
  expect(state.wasStopped, "the stop ended it")
  state = nil
}

private func twoStops() {
  let state = start()
  spawn { state.wasStopped = state.lock.wait() }
  spawn { state.lock.stop() }
  spawn { state.lock.stop() }
}

// The wait returns whether the stop or the timeout ended it. A stop that comes too late changes nothing.
private func stopAgainstTimeout() {
  let state = start(timeout: .nanoseconds(1_000_000))
  spawn {
    state.wasStopped = state.lock.wait()
    if state.wasStopped { expect(state.note.value == 1, "what was before the stop") }
    expect(state.second.wait(), "a later wait ends by its own stop")
  }
  spawn {
    state.note.value = 1
    state.lock.stop()
    state.second.stop()
  }
}

private func forgotten() { state = nil }

private func timeout() {
  let state = start(timeout: .nanoseconds(1_000_000))
  spawn {
    let before = csched_now()
    state.wasStopped = state.lock.wait()
    expect(csched_now() - before >= 1_000_000, "not before its time")
  }
}

private func isOver() {
  expect(!state.wasStopped, "the time was over")
  state = nil
}

// Accepted actions have been performed when the wait returns. Refused actions are released.
private func dispatchAgainstEnd() {
  let state = start()
  let note = state.note, gone = state.gone
  spawn {
    state.wasStopped = state.lock.wait()
    state.order.value = note.value
  }
  spawn {
    state.isAccepted = state.lock.dispatch(capturing(gone) { note.value = 1 })
    if !state.isAccepted { expect(gone.value == 1, "refused and released") }
  }
  spawn { state.lock.stop() }
}

private func performed() {
  expect(state.wasStopped && state.gone.value == 1, "stopped, and nothing is kept")
  expect(state.order.value == (state.isAccepted ? 1 : 0), "accepted: performed before the wait returned")
  state = nil
}

// The action that is dispatched stops the wait.
private func dispatchedStop() {
  let state = start()
  spawn { state.wasStopped = state.lock.wait() }
  spawn { expect(state.lock.dispatch { state.lock.stop() }, "taken") }
}

private func dispatchesInOrder() {
  let state = start()
  let order = state.order
  spawn { state.wasStopped = state.lock.wait() }
  spawn {
    state.lock.dispatch { order.value = 1 }
    state.lock.dispatch {
      expect(order.value == 1, "in order")
      order.value = 2
    }
    state.lock.stop()
  }
}

private func inOrder() {
  expect(state.order.value == 2 && state.wasStopped, "both, before it returned")
  state = nil
}

// The second wait is inside of the first; the first is stopped before it, or after it.
private func nested() {
  let state = start()
  state.lock.dispatch { expect(state.second.wait(), "ends by its own stop") }
  spawn {
    state.wasStopped = state.lock.wait()
    expect(state.note.value == 1, "the inner one has ended")
  }
  spawn { state.lock.stop() }
  spawn {
    state.note.value = 1
    state.second.stop()
  }
}

// On a thread of the core, which has a loop: a job of that waits.
private func onLoop() {
  let state = start()
  spawn {
    var loop: OpaquePointer?
    expect(csched_loop_create(&loop) == 0, "a loop")
    let job = ClosureTask { state.wasStopped = state.lock.wait() }
    job.submit(to: csched_loop_target(loop))
    csched_loop_run_ready(loop, 1)
    csched_loop_destroy(loop)
  }
  spawn {
    state.note.value = 1
    state.lock.stop()
  }
}

// A job that a dispatch has submitted to the loop does not stay there when the wait ends first.
private func nothingStays() {
  let state = start()
  let gone = state.gone
  spawn {
    var loop: OpaquePointer?
    expect(csched_loop_create(&loop) == 0, "a loop")
    let job = ClosureTask { state.wasStopped = state.lock.wait() }
    job.submit(to: csched_loop_target(loop))
    csched_loop_run_ready(loop, 1)
    expect(csched_loop_is_free_(loop), "nothing waits in the loop")
    csched_loop_destroy(loop)
  }
  spawn {
    state.lock.dispatch(capturing(gone) {})
    state.lock.stop()
  }
}

private func nothingIsKept() {
  expect(state.gone.value == 1, "nothing is kept")
  isStopped()
}

private func secondRun() {
  let state = start()
  state.lock.stop()
  model_expect_panic("called a second time")
  model_allow_leaks()
  spawn { _ = state.lock.wait() }
  spawn { _ = state.lock.wait() }
}

private func stopsProcess() {
  expect(model_panics() == 1, "one of the two is the second")
  state = nil
}

let lockChecks = [
  Check("run loop lock: a stop against the run", stopAgainstRun, isStopped),  // RL1 RL4
  Check("run loop lock: two stops", twoStops, isStopped),  // RL1
  Check("run loop lock: a stop against the timeout, and a later wait", stopAgainstTimeout, forgotten),  // RL1 RL4
  Check("run loop lock: the time is over", timeout, isOver),  // RL5
  Check("run loop lock: a dispatch against the end", dispatchAgainstEnd, performed),  // RL2 RL3
  Check("run loop lock: an action that stops it", dispatchedStop, isStopped),  // RL1 RL2
  Check("run loop lock: actions in order", dispatchesInOrder, inOrder),  // RL2
  Check("run loop lock: one lock inside another", nested, isStopped),  // RL1 RL3
  Check("run loop lock: in a job of a loop", onLoop, isStopped),  // RL1
  Check("run loop lock: nothing stays in the loop", nothingStays, nothingIsKept),  // RL6
  Check("run loop lock: a second run stops the process", secondRun, stopsProcess),  // RL1
]
