// Virtual time from Swift to the core (virtual.c, VT1 to VT5), with actions as every scheduler has them (Y1 to Y5, AE2,
// Z1, Z5), and periodic actions that are made of delayed ones (OC1, RC1 to RC3), or that are suspended (PA1 to PA4).

private final class State: @unchecked Sendable {
  var scheduler: TestScheduler! = TestScheduler()
  let runs = Note(), laterRuns = Note(), gone = Note(), child = Child()
  var token: (any Disposable)?, later: (any Disposable)?
}
nonisolated(unsafe) private var state: State!

private func instant(_ nanoseconds: UInt64) -> MonotonicTime { MonotonicTime(nanoseconds: nanoseconds) }

private func start(at time: UInt64 = 1) -> State {
  state = State()
  let runs = state.runs
  state.token = state.scheduler.schedule(at: instant(time), capturing(state.gone) { runs.value += 1 })
  return state
}

private func ranOrDisposed() {
  state.scheduler?.run()
  expect(state.gone.value == 1, "captures are gone")
  expect(state.runs.value <= 1, "at most once")
  expect(state.scheduler?.pendingCount ?? 0 == 0, "nothing is left")
  state = nil
}

private func ran() {
  expect(state.runs.value == 1 && state.gone.value == 1, "it ran")
  expect(state.scheduler.pendingCount == 0, "nothing is left")
  expect(state.scheduler.virtualTime.nanoseconds == 2, "the clock is where both have asked it to be")
  state = nil
}

// MARK: driving

// The thread that does not drive waits for the driver. Each sees the writes of the actions that the other ran.
private func twoDrive() {
  let state = start()
  spawn { state.scheduler.advance(to: instant(1)) }
  spawn { state.scheduler.advance(to: instant(2)) }
}

// The driver, whichever thread it is, runs an action that was submitted before an advance.
private func submissionAgainstDrive() {
  state = State()
  let state = state!
  spawn { state.scheduler.advance(to: instant(2)) }
  spawn {
    let runs = state.runs
    state.scheduler.schedule(at: instant(1), capturing(state.gone) { runs.value += 1 })
    state.scheduler.advance(to: instant(2))
  }
}

private func stopAgainstDrive() {
  let state = start()
  spawn { state.scheduler.advance(to: instant(2)) }
  spawn { state.scheduler.stop() }
}

// A stop leaves nothing behind that keeps a later drive from its work.
private func runsLater() {
  state.scheduler.advance(to: instant(2))
  ran()
}

private func twoClocks() {
  state = State()
  let state = state!
  spawn { state.scheduler.sleep(to: instant(3)) }
  spawn { state.scheduler.sleep(to: instant(5)) }
}

private func isLater() {
  expect(state.scheduler.virtualTime.nanoseconds == 5, "time does not move back")
  state = nil
}

// MARK: disposing

private func disposalAgainstDrive() {
  let state = start()
  spawn { state.scheduler.advance(to: instant(2)) }
  spawn { state.token!.dispose() }
}

private func disposalAgainstSubmission() {
  let state = start()
  spawn { state.scheduler.schedule {} }
  spawn {
    state.token!.dispose()
    expect(state.gone.value == 1, "captures are gone when the disposal returns")
  }
}

private func neverRan() {
  expect(state.scheduler.pendingCount == 1, "it is not counted any more")
  state.scheduler.run()
  expect(state.runs.value == 0, "it never runs")
  state = nil
}

private func twoDisposals() {
  let state = start()
  spawn { state.token!.dispose() }
  spawn { state.token!.dispose() }
}

private func disposalAgainstEnd() {
  let state = start()
  spawn { state.scheduler = nil }
  spawn { state.token!.dispose() }
}

// What waits has been released when the last reference to the scheduler has gone.
private func end() {
  let state = start()
  spawn {
    state.scheduler = nil
    expect(state.gone.value == 1, "captures are gone")
  }
  spawn { _ = state.token?.isDisposed }
}

private func forgotten() { state = nil }

private func disposalOfResult() {
  state = State()
  let state = state!, runs = state.runs, gone = state.gone
  state.token = state.scheduler.schedule(0) { _ in Dying(runs, gone) }
  state.scheduler.run()
  spawn {
    state.token!.dispose()
    expect(runs.value == 1 && gone.value == 1, "what was returned is disposed, and gone, when dispose returns")
  }
}

private func periodicAgainstNobody() {
  state = State()
  let state = state!, runs = state.runs
  state.token = state.scheduler.schedule(.every(.nanoseconds(1)), capturing(state.gone) { runs.value += 1 })
}

private func periodicAgainstDisposal() {
  periodicAgainstNobody()
  let state = state!
  spawn { state.scheduler.advance(to: instant(2)) }
  spawn { state.token!.dispose() }
}

private func noMoreTicks() {
  let before = state.runs.value
  expect(before <= 2 && state.gone.value == 1 && state.scheduler.pendingCount == 0, "it and its captures are gone")
  state.scheduler.advance(to: instant(9))
  expect(state.runs.value == before, "no tick later")
  state = nil
}

// MARK: waiting

/// Waits, and then touches data that otherwise only the action touches.
private func awaitEnd(of state: State) {
  state.token!.disposeAndWait()
  expect(state.gone.value == 1, "captures are gone")
  state.runs.value += 10
}

private func driveAgainstWait() {
  let state = start()
  spawn { state.scheduler.advance(to: instant(2)) }
  spawn { awaitEnd(of: state) }
}

private func periodicAgainstWait() {
  periodicAgainstNobody()
  let state = state!
  spawn { state.scheduler.advance(to: instant(2)) }
  spawn { awaitEnd(of: state) }
}

private func disposalAgainstWait() {
  let state = start()
  spawn { state.token!.dispose() }
  spawn { awaitEnd(of: state) }
}

private func endAgainstWait() {
  let state = start()
  spawn { state.scheduler = nil }
  spawn { awaitEnd(of: state) }
}

private func notLater() {
  let before = state.runs.value
  expect(before % 10 <= 2 && state.gone.value == 1, "it and its captures are gone")
  state.scheduler?.run()
  expect(state.runs.value == before, "it never runs later")
  state = nil
}

private func waitInside() {
  state = State()
  let state = state!, runs = state.runs
  state.token = state.scheduler.schedule(
    .every(.nanoseconds(1)),
    capturing(state.gone) { [unowned state] in
      runs.value += 1
      state.token!.disposeAndWait()
    })
  spawn { state.scheduler.advance(to: instant(2)) }
}

private func ranOnce() {
  expect(state.runs.value == 1 && state.gone.value == 1, "it ran once")
  state = nil
}

private func driveAgainstLook() {
  let state = start()
  spawn { state.scheduler.advance(to: instant(1)) }
  spawn {
    guard state.token!.isDisposed else { return }
    expect(state.runs.value == 1 && state.gone.value == 1, "what the run did")
  }
}

private func isOver() {
  expect(state.token!.isDisposed, "it is over")
  state = nil
}

// MARK: chains

private func chain() -> State {
  state = State()
  let state = state!
  let scheduler = state.scheduler!, runs = state.runs, laterRuns = state.laterRuns, child = state.child
  state.token = state.scheduler.schedule(0) { [unowned scheduler, unowned state] _ in
    runs.value += 1
    let later = scheduler.schedule(0, after: .nanoseconds(1)) { _ in
      laterRuns.value += 1
      return child
    }
    state.later = later
    return later
  }
  return state
}

private func chainAgainstDisposal() {
  let state = chain()
  spawn { state.scheduler.advance(to: instant(2)) }
  spawn { state.token!.dispose() }
}

private func lastDisposed() {
  state.scheduler.advance(to: instant(2))
  expect(state.child.disposals == state.laterRuns.value, "what the last one returned is disposed once")
  state = nil
}

// However the later one ends, it and the first do not keep each other: there is no leak.
private func laterDisposed() {
  let state = chain()
  state.scheduler.step()
  spawn { state.later!.dispose() }
  spawn { state.token = nil }
}

private func laterAgainstTurn() {
  let state = chain()
  state.scheduler.step()
  spawn { state.later!.dispose() }
  spawn { state.scheduler.advance(to: instant(2)) }
}

private func laterDropped() {
  let state = chain()
  state.scheduler.step()
  spawn { state.scheduler = nil }
  spawn { state.token = nil }
}

private func isLeftAlone() {
  expect(state.child.disposals == 0 || state.laterRuns.value == 1, "nobody disposed what was not there")
  state = nil
}

// MARK: periodic actions of a scheduler that has no timers of its own

private struct Foreign: SchedulerType {
  let base: TestScheduler

  var now: MonotonicTime { base.now }

  func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable { base.schedule(action) }

  func schedule(_ timing: ActionTiming, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    timing.period == nil ? base.schedule(timing, action) : PeriodicTicks.started(timing, on: self, action)
  }
}

private func foreignAgainstWait() {
  state = State()
  let state = state!, runs = state.runs
  state.token = Foreign(base: state.scheduler).schedule(
    .every(.nanoseconds(1)), capturing(state.gone) { runs.value += 1 })
  spawn { state.scheduler.advance(to: instant(2)) }
  spawn { awaitEnd(of: state) }
}

// MARK: periodic actions that are suspended

/// Its ticks are one at a time, or `runs` would be changed by two threads at once.
private func suspendable(
  every period: Duration = .nanoseconds(1), _ inTick: @escaping @Sendable (PeriodicAction) -> Void = { _ in }
) -> PeriodicAction {
  state = State()
  let runs = state.runs, body = capturing(state.gone) { runs.value += 1 }
  let action = state.scheduler.schedulePeriodic(period) { action in
    body()
    inTick(action)
  }
  state.token = action
  return action
}

private func suspensionAgainstDrive() {
  let action = suspendable()
  spawn { state.scheduler.advance(to: instant(2)) }
  spawn { action.suspend() }
}

// It is suspended now, once.
private func goesOn() {
  let scheduler = state.scheduler!, action = state.token as! PeriodicAction, before = state.runs.value
  expect(before <= 2 && state.gone.value == 0 && !action.isDisposed, "it is kept")
  expect(scheduler.pendingCount == 0, "its scheduler has nothing of it")
  scheduler.advance(to: instant(9))
  expect(state.runs.value == before, "no tick while it is suspended")
  action.resume()
  expect(scheduler.pendingCount == 1, "it is resumed")
  scheduler.advance(to: instant(12))
  expect(state.runs.value == before + 4, "late ticks are one, and then it is in time")
  action.dispose()
  expect(state.gone.value == 1 && scheduler.pendingCount == 0, "it and its captures are gone")
  state = nil
}

private func suspensionInsideAgainstResumption() {
  let action = suspendable { $0.suspend() }
  spawn { state.scheduler.advance(to: instant(1)) }
  spawn {
    action.suspend()
    action.resume()
  }
}

private func suspendsItself() {
  let scheduler = state.scheduler!, action = state.token as! PeriodicAction
  scheduler.advance(to: instant(1))  // where it was suspended when that time came
  expect(state.runs.value == 1 && state.gone.value == 0 && scheduler.pendingCount == 0, "it has suspended itself")
  action.resume()
  scheduler.advance(to: instant(9))
  expect(state.runs.value == 2 && scheduler.pendingCount == 0, "it has done so again")
  action.dispose()
  expect(state.gone.value == 1, "it and its captures are gone")
  state = nil
}

private func resumedInsideAgainstSuspension() {
  let action = suspendable {
    $0.suspend()
    $0.resume()
  }
  spawn { state.scheduler.advance(to: instant(2)) }
  spawn { action.suspend() }
}

private func suspensionsAgainstDrive() {
  let action = suspendable()
  spawn { state.scheduler.advance(to: instant(2)) }
  spawn {
    action.suspend()
    action.resume()
    action.suspend()
  }
}

private func suspensionAgainstDisposal() {
  let action = suspendable()
  spawn { action.suspend() }
  spawn { action.dispose() }
}

private func resumptionAgainstDisposal() {
  let action = suspendable()
  action.suspend()
  spawn { action.resume() }
  spawn { action.dispose() }
}

private func resumptionAgainstWait() {
  let action = suspendable()
  action.suspend()
  spawn {
    action.resume()
    state.scheduler.advance(to: instant(1))
  }
  spawn { awaitEnd(of: state) }
}

private func lastTick() {
  _ = suspendable(every: .zero)
  spawn { state.scheduler.advance(to: instant(1)) }
}

private func isOverByItself() {
  expect(state.runs.value == 1 && state.gone.value == 1 && state.token!.isDisposed, "it had one tick, and is over")
  state = nil
}

// MARK: times that share a tick

/// Tenths of a nanosecond.
private struct Coarse: InstantProtocol {
  let tenths: Int64

  func advanced(by duration: Duration) -> Coarse { Coarse(tenths: tenths + duration.saturatedNanoseconds * 10) }
  func duration(to other: Coarse) -> Duration { .nanoseconds((other.tenths - tenths + 9) / 10) }
  static func < (left: Coarse, right: Coarse) -> Bool { left.tenths < right.tenths }
}

nonisolated(unsafe) private var coarse: VirtualTimeScheduler<Coarse>!

private func twoTimesOfATick() {
  coarse = VirtualTimeScheduler(initialClock: Coarse(tenths: 0))
  let scheduler = coarse!
  spawn { scheduler.advance(to: Coarse(tenths: 13)) }
  spawn { scheduler.sleep(to: Coarse(tenths: 16)) }
}

private func isTheLater() {
  expect(coarse.virtualTime.tenths == 16, "time does not move back within a tick")
  coarse.schedule(at: Coarse(tenths: 21)) {}
  coarse.advance(to: Coarse(tenths: 25))
  expect(coarse.virtualTime.tenths == 25, "it goes on within a tick")
  coarse = nil
}

let checks = [
  Check("virtual: two threads that drive", twoDrive, ran),  // VT1
  Check("virtual: a submission against a drive", submissionAgainstDrive, ran),  // VT1 VT2
  Check("virtual: a stop against a drive", stopAgainstDrive, runsLater),  // VT1
  Check("virtual: two threads that move the clock", twoClocks, isLater),  // VT3
  Check("virtual: a disposal against a drive", disposalAgainstDrive, ranOrDisposed),  // VT4 TK4
  Check("virtual: a disposal against a submission", disposalAgainstSubmission, neverRan),  // VT4
  Check("virtual: two disposals", twoDisposals, ranOrDisposed),  // VT4
  Check("virtual: a disposal against the end of the scheduler", disposalAgainstEnd, ranOrDisposed),  // VT5
  Check("virtual: the end of the scheduler", end, forgotten),  // VT5
  Check("virtual: a disposal of the returned disposable", disposalOfResult, forgotten),  // Y1
  Check("virtual: a periodic action against its disposal", periodicAgainstDisposal, noMoreTicks),  // TK6
  Check("virtual: a wait against a drive", driveAgainstWait, notLater),  // TK4
  Check("virtual: a wait against a drive of a periodic action", periodicAgainstWait, notLater),  // TK4
  Check("virtual: a wait against a disposal", disposalAgainstWait, notLater),  // TK4
  Check("virtual: a wait against the end of the scheduler", endAgainstWait, notLater),  // TK4 VT5
  Check("virtual: a wait in the action", waitInside, ranOnce),  // TK4
  Check("virtual: the end publishes the action's writes", driveAgainstLook, isOver),  // TK2
  Check("virtual: a chain against a disposal", chainAgainstDisposal, lastDisposed),  // Y1 Y2
  Check("virtual: a later action that is disposed", laterDisposed, isLeftAlone),  // Y3
  Check("virtual: a later action that is disposed in its turn", laterAgainstTurn, isLeftAlone),  // Y3
  Check("virtual: a later action that is dropped", laterDropped, isLeftAlone),  // Y3
  Check("virtual: a wait for a periodic action of delayed actions", foreignAgainstWait, notLater),  // OC1
  Check("virtual: suspended: against a drive", suspensionAgainstDrive, goesOn),  // PA1 PA3
  Check("virtual: suspended: inside, and resumed", suspensionInsideAgainstResumption, suspendsItself),  // PA2 PA3
  Check("virtual: suspended: resumed inside", resumedInsideAgainstSuspension, goesOn),  // PA2
  Check("virtual: suspended: again and again", suspensionsAgainstDrive, goesOn),  // PA2 PA3 RC1
  Check("virtual: suspended: against a disposal", suspensionAgainstDisposal, noMoreTicks),  // PA3
  Check("virtual: suspended: a resumption against a disposal", resumptionAgainstDisposal, noMoreTicks),  // PA2
  Check("virtual: suspended: a resumption against a wait", resumptionAgainstWait, notLater),  // RC2 RC3
  Check("virtual: suspended: the last tick", lastTick, isOverByItself),  // PA4
  Check("virtual: two times of a tick", twoTimesOfATick, isTheLater),  // VT3
]
