// LoopSource.swift: LS1 to LS5.

internal import CScheduler

/// A source whose events are brought by actions on the loop's thread, in place of the core.
private final class HandSource: LoopSource<Int>, @unchecked Sendable {
  // Unchecked: it belongs to the loop's thread, as the core's own sources do. The check finds an access by another
  // thread.
  private(set) var isIn = false

  override func add(to loop: OpaquePointer) -> Int32 {
    isIn = true
    return 0
  }

  override func remove(from loop: OpaquePointer) { isIn = false }

  func happen() { if isIn { tell(1) } }

  func endByItself(_ error: Int32? = nil) {
    guard isIn else { return }
    isIn = false
    handleRemovalByCore(error)
  }
}

private final class State: @unchecked Sendable {
  let runs = Note(), gone = Note(), drops = Note(), ends = Note()
  var source: HandSource?
}
nonisolated(unsafe) private var state: State!

/// Has `thread` wait for a source that counts its runs.
private func begin(on thread: ThreadScheduler, _ handler: @escaping @Sendable () -> Void = {}) -> HandSource {
  let runs = state.runs, drops = state.drops
  let counts = capturing(state.gone) { runs.value += 1 }
  let source = HandSource(on: thread, onDrop: { _ in drops.value += 1 }) { _ in
    counts()
    handler()
  }
  source.begin()
  return source
}

private func end(_ thread: ThreadScheduler, _ source: HandSource) {
  thread.stop(.runOutstanding)
  thread.joinBlocking()
  source.endByItself(125)  // as the loop does at its end with its remaining sources
}

private func overOnce() {
  expect(state.gone.value == 1, "what the handler held has gone, once")
  expect(state.drops.value == 0, "what ends as asked is not told of")
  state = nil
}

/// The handler's runs, and then perhaps the end by itself, beside a disposal.
private func disposed(besides events: @escaping @Sendable (HandSource) -> Void) {
  state = State()
  spawn {
    let runs = state.runs, gone = state.gone
    let thread = try! ThreadScheduler(), source = begin(on: thread)
    spawn { thread.schedule { events(source) } }
    source.disposeAndWait()
    expect(gone.value == 1, "its captures have gone")
    let before = runs.value
    end(thread, source)
    expect(runs.value == before, "no handler begins after the disposal")
    expect(!source.isIn, "it has left the loop")
  }
}

private func besideRuns() {
  disposed {
    $0.happen()
    $0.happen()
  }
}

private func besideEnd() {
  disposed {
    $0.happen()
    $0.endByItself()
  }
}

private func byTwo() {
  state = State()
  spawn {
    let thread = try! ThreadScheduler(), source = begin(on: thread)
    spawn { source.dispose() }
    thread.schedule { source.happen() }
    let ends = state.ends
    source.dispose()
    source.dispose()
    thread.schedule { ends.value += 1 }  // released once by the source
    end(thread, source)
  }
}

private func overForTwo() {
  expect(state.ends.value == 1, "the scheduler goes on")
  overOnce()
}

// The handler disposes its own source; another thread does, too.
private func inside() {
  state = State()
  spawn {
    let state = state!
    let thread = try! ThreadScheduler()
    let source = begin(on: thread) { state.source!.disposeAndWait() }
    state.source = source
    spawn {
      source.disposeAndWait()
      let before = state.runs.value
      expect(before <= 1, "it runs once")
    }
    thread.schedule {
      source.happen()
      source.happen()
    }
    end(thread, source)
  }
}

private func overOnceInside() {
  expect(state.runs.value <= 1, "it runs once")
  state.source = nil
  overOnce()
}

// It begins on a thread that is being stopped.
private func ofStopped() {
  state = State()
  spawn {
    let thread = try! ThreadScheduler()
    spawn { thread.stop(.dropOutstanding) }
    let source = begin(on: thread)
    thread.joinBlocking()
    source.endByItself(125)
    expect(source.isDisposed, "it is over")
  }
}

private func toldOnce() {
  expect(state.gone.value == 1, "what the handler held has gone, once")
  expect(state.drops.value == 1, "it is told of")
  state = nil
}

// Nothing but the source keeps its scheduler, until it is disposed.
private func lastUser() {
  state = State()
  spawn {
    let source = begin(on: try! ThreadScheduler())
    source.disposeAndWait()
  }
}

/// The run-time's table for the class is made before the runs.
@_optimize(none) private func prepared<Made>(_ type: Any.Type, _ made: Made) -> Made { made }

private let sourceChecks = prepared(
  HandSource.self,
  [
    Check("source: disposed beside its runs", besideRuns, overOnce),  // LS1 LS2 LS3 LS4
    Check("source: disposed beside its end", besideEnd, overOnce),  // LS3 LS4 LS5
    Check("source: disposed by two threads", byTwo, overForTwo),  // LS5
    Check("source: disposed by its handler", inside, overOnceInside),  // LS1 LS4
    Check("source: of a thread that is stopped", ofStopped, toldOnce),  // LS5
    Check("source: the last reference to its scheduler", lastUser, overOnce),  // LS5
  ])

let checks = lateJobChecks + sourceChecks
