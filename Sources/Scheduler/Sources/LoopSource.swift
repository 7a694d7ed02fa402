// States, under the lock: `isOver`, final; `runs`, the handler's calls, and an end on the loop's thread; the handler and onDrop, until it is over.
// Obligations
//   LS1  A handler begins only if it has found the source not over, under the lock; a disposal makes it over under the same lock. So once that has
//        returned no handler begins, on whichever thread it was.
//   LS2  The loop's structure is touched on the loop's thread only. A disposal elsewhere leaves that to an action; a closed loop has removed it itself.
//        The system has forgotten it by then, and another loop can take what it had: `silence`.
//   LS3  The loop keeps the object, from when it is added until it is removed.
//   LS4  Who waits after a disposal, elsewhere, comes after what runs and after what the loop's thread lets go of, captures included, and sees that.
//   LS5  It is over once: one end or disposal lets go of what it held, and of its use of the scheduler; `onDrop` is told of an end at most once, and
//        of none after a disposal.
// Checked by: "once a source is disposed on another thread, no handler begins, and its captures are gone", "a handler runs with the scheduler as the
//   current one, and may dispose its own source, whose captures are then gone".
// Models: swift/executors/loop_source.swift.

internal import CScheduler

/// A source of a scheduler's loop: what the loop's thread is to call a handler for, until it is disposed, or ends by itself.
///
/// It belongs to two: to whoever disposes it, on any thread, and to the loop, on its own. `state` decides between them.
class LoopSource<Event: Sendable>: Disposable, @unchecked Sendable {
  // Unchecked, because a class that has subclasses cannot be checked: what changes is guarded by `state`, or belongs to the loop's thread.
  typealias Handler = @Sendable (Event) -> Void
  typealias OnDrop = @Sendable (SchedulerError) -> Void

  private struct State {
    var handler: Handler?
    var onDrop: OnDrop?
    var isOver = false
    var runs = 0
  }

  private let counted = CountedDisposable()
  private let state: Protected<State>
  private let changed = UnfairLock.Condition()
  private let core: TargetCore, tag: TargetCore?
  /// Whether the loop has it. On the loop's thread.
  @exclusivity(unchecked) private final var isAdded = false

  init(on scheduler: SchedulerTarget, onDrop: OnDrop?, _ handler: @escaping Handler) {
    core = scheduler.core
    tag = scheduler.tag
    state = Protected(State(handler: handler, onDrop: onDrop))
  }

  /// Adds it to the loop. Returns the core's error.
  func add(to loop: OpaquePointer) -> Int32 { misuse("LoopSource.add", "each kind has its own: override it") }

  /// Has the system forget it at once, on any thread. It is then still to be removed.
  func silence(in loop: OpaquePointer) {}

  /// Removes it, if the loop still has it.
  func remove(from loop: OpaquePointer) { misuse("LoopSource.remove", "each kind has its own: override it") }

  private final var loop: OpaquePointer { OpaquePointer(core.target) }  // the loop's first member

  /// Has the loop wait, at once on its thread, else by an action.
  final func begin() {
    core.use()
    let isTold = state.withLock { $0.onDrop != nil }
    guard csched_loop_is_on_thread(loop) else {
      _ = core.scheduler.schedule({ _ = self.addHere() }, isTold: isTold, onDrop: { _ in self.end(.stopped) })
      return
    }
    if addHere() == .stopped, !isTold { core.noteRefusal() }
  }

  /// Returns why it could not be added.
  private final func addHere() -> SchedulerError? {
    guard !isDisposed else { return nil }
    let error = add(to: loop)
    guard error == 0 else {
      let error = reason(error)
      end(error)
      return error
    }
    isAdded = true
    _ = Unmanaged.passRetained(self)
    return nil
  }

  // MARK: on the loop's thread, by the core

  /// Calls the handler, unless it is disposed.
  final func tell(_ event: Event) {  // LS1
    if callHandler(event) { endRun() }
  }

  private final func endRun() {
    let isAwaited = state.withLock { state in
      state.runs -= 1
      return state.isOver
    }
    if isAwaited { changed.broadcast() }
  }

  /// Returns whether it was called. A function of its own, so that the closure is gone before anybody is told that the run is over.
  @inline(never)
  private final func callHandler(_ event: Event) -> Bool {
    let handler = state.withLock { state -> Handler? in
      if state.handler != nil { state.runs += 1 }
      return state.handler
    }
    guard let handler else { return false }
    if let tag { tag.run { handler(event) } } else { handler(event) }
    return true
  }

  /// Follows its removal by the core.
  final func removedByCore(_ error: Int32?) {  // LS3
    guard isAdded else { return }
    isAdded = false
    end(error.map(reason))
    Unmanaged.passUnretained(self).release()
  }

  private final func removeHere() {
    guard isAdded else { return }
    isAdded = false
    remove(from: loop)
    Unmanaged.passUnretained(self).release()
  }

  // MARK: its end

  /// Makes it over; `isRun`: until `endRun` it is waited for, as a run. Returns whether it was not, with what it held, to be let go of outside
  /// of the lock.
  private final func close(isRun: Bool = false) -> (Handler?, OnDrop?)? {
    state.withLock { state in
      guard !state.isOver else { return nil }  // LS5
      state.isOver = true
      if isRun { state.runs += 1 }
      return (state.handler.take(), state.onDrop.take())
    }
  }

  /// Ends it, because of `error` if there is one, which is told. Whoever disposes it meanwhile and waits comes after that, and after its captures.
  private final func end(_ error: SchedulerError?) {
    let isOnLoop = csched_loop_is_on_thread(loop)  // where nobody waits: what is let go of here may dispose it
    if letGo(telling: error, isRun: isOnLoop), isOnLoop { endRun() }  // LS4
  }

  /// Returns whether it was not over. A function of its own, as `callHandler` is.
  @inline(never)
  private final func letGo(telling error: SchedulerError?, isRun: Bool) -> Bool {
    guard let held = close(isRun: isRun) else { return false }
    let onDrop = held.1
    core.letGo()
    guard let error else { return true }
    if let onDrop {
      onDrop(error)
      return true
    }
    // A stop is no news to the one who stopped the scheduler.
    if error != .stopped {
      reportLine("\(type(of: self))", of: core.name, "it ends: \(error). Give onDrop, which is told of it.")
    }
    return true
  }

  final var isDisposed: Bool { state.withLock { $0.isOver } }

  final func dispose() {
    guard close() != nil else { return }
    if csched_loop_is_on_thread(loop) {
      removeHere()
    } else if !core.isOrphaned {
      silence(in: loop)
      core.submitOwn { self.removeHere() }  // LS2
    }
    core.letGo()
  }

  final func disposeAndWait() {
    dispose()
    if csched_loop_is_on_thread(loop) || core.isOrphaned { return }
    csched_pool_blocking_begin()
    state.withLock(on: changed, when: { $0.runs == 0 }) { _ in }
    csched_pool_blocking_end()
  }
}

private func reason(_ error: Int32) -> SchedulerError {
  csched_swift_is_stopped_(error) ? .stopped : .system(error)
}
