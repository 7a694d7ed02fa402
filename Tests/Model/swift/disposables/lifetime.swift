// Lifetime.swift and LifetimeRegistration.swift: A3, and CD1 beneath it.

private final class State: @unchecked Sendable {
  let calls = Note(), revoked = Note()
  var token: Lifetime.Token?
  var registration: (any Disposable)?
}
nonisolated(unsafe) private var state: State!

private func start(observed: Bool) -> (State, Lifetime) {
  let new = State()
  state = new
  let (lifetime, token) = Lifetime.make()
  new.token = token
  let calls = new.calls
  if observed { new.registration = lifetime.observeEnded { calls.value += 1 } }
  return (new, lifetime)
}

private func observerAgainstEnd() {
  let (state, lifetime) = start(observed: false)
  let calls = state.calls
  spawn {
    let registration = lifetime.observeEnded { calls.value += 1 }
    expect(registration != nil || calls.value == 1, "called at once, where it has ended")
  }
  spawn { state.token = nil }  // the last reference
}

private func calledOnce() {
  expect(state.calls.value == 1, "the observer is called once")
  state = nil
}

private func revokedAgainstEnd() {
  let (state, _) = start(observed: true)
  spawn { state.registration!.dispose() }
  spawn { state.registration!.dispose() }
  spawn { state.token!.dispose() }
}

private func calledAtMostOnce() {
  expect(state.calls.value <= 1 && state.registration!.isDisposed, "called or revoked")
  state = nil
}

private func published() {
  let (new, _) = start(observed: true)
  publication(new.registration!)
}

private func ended() {
  seen()
  state = nil
}

let lifetimeChecks = [
  Check("lifetime: an observer against the end", observerAgainstEnd, calledOnce),  // CD1
  Check("lifetime: two threads revoke, one ends", revokedAgainstEnd, calledAtMostOnce),  // CD1
  Check("lifetime: the disposal of a registration publishes the writes before it", published, ended),  // A3
]
