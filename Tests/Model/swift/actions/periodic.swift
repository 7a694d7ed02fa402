// RepeatingTask.swift: task.c, TK6.

internal import CScheduler

private final class State: @unchecked Sendable {
  let core = HandCore()
  let ticks = Note(), gone = Note()
  var action: ClosureTask?
}
nonisolated(unsafe) private var state: State!

private func start() -> State {
  let new = State()
  state = new
  let ticks = new.ticks
  new.action = new.core.submit(
    capturing(new.gone) { ticks.value += 1 }, .every(.nanoseconds(1), pace: .fixedDelay), inside: nil)
  return new
}

private func disposalAgainstTick() {
  let state = start()
  spawn { state.core.perform(atMost: 1) }
  spawn { state.action!.dispose() }
}

private func disposalAgainstTwo() {
  let state = start()
  spawn { state.core.perform(atMost: 2) }
  spawn { state.action!.dispose() }
}

private func disposalsAgainstTick() {
  disposalAgainstTick()
  let state = state!
  spawn { state.action!.dispose() }
}

/// A target that is a loop, whose wheel gives a timer back as soon as it is cancelled.
private final class LoopCore: TargetCore, @unchecked Sendable {
  // Unchecked: it never changes.
  let loop: OpaquePointer

  init() {
    var made: OpaquePointer?
    expect(csched_loop_create(&made) == 0, "a loop")
    loop = made!
    super.init(csched_loop_target(loop))
  }
}
nonisolated(unsafe) private var onLoop: (core: LoopCore, action: ClosureTask?)!

private func letGoAgainstTick() {
  state = State()
  onLoop = (LoopCore(), nil)
  let ticks = state.ticks
  onLoop.action = onLoop.core.submit(
    capturing(state.gone) { ticks.value += 1 }, .every(.microseconds(100), pace: .fixedDelay), inside: nil)
  csched_loop_detach(onLoop.core.loop)
  spawn {
    csched_loop_attach(onLoop.core.loop)
    csched_loop_run_until(onLoop.core.loop, csched_now() + 150_000)
    csched_loop_detach(onLoop.core.loop)
  }
  spawn {
    let action = onLoop.action.take()!
    action.dispose()
  }
}

// Only here, because a cancellation needs the loop until it returns.
private func isGone() {
  expect(state.gone.value == 1, "captures are gone")
  csched_loop_attach(onLoop.core.loop)
  csched_loop_destroy(onLoop.core.loop)
  (state, onLoop) = (nil, nil)
}

// Whatever was submitted has been cancelled: its turn finds nothing to do.
private func noMoreTicks() {
  let before = state.ticks.value
  expect(state.gone.value == 1, "captures are gone")
  state.core.perform()
  expect(state.ticks.value == before, "no tick after the disposal")
  expect(state.core.uses == 1 && state.core.ends == 1, "the core is let go of")
  let core = Trace(state.core)
  state = nil
  expect(core.isGone, "and gone")
}

private func publishedAction() {
  publication(start().action!)
}

private func isSeen() {
  seen()
  noMoreTicks()
}

let periodicChecks = [
  Check("periodic action: a disposal against a tick", disposalAgainstTick, noMoreTicks),  // TK6
  Check("periodic action: a disposal against two ticks", disposalAgainstTwo, noMoreTicks),  // TK6
  Check("periodic action: two disposals against a tick", disposalsAgainstTick, noMoreTicks),  // TK6
  Check("periodic action: disposed and released against a tick", letGoAgainstTick, isGone),  // TK6
  Check("periodic action: a disposal publishes the writes before it", publishedAction, isSeen),  // TK6
]
