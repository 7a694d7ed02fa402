// A source of a loop: calls a handler on the loop's thread for each event, until it is disposed or ends on its own.
//
// States, under the lock: `isOver`, final; `runs`: handler calls and ends in progress on the loop's thread; `handler`, `onDrop`: nil when over.
// Invariants
//   LS1  A handler call starts only if the source is not over, checked under the lock. A disposal sets `isOver` under the lock. So no handler call
//        starts after a disposal has returned, on any thread.
//   LS2  The loop's structure is accessed on the loop's thread only. A disposal on another thread submits an action that removes the source; a
//        closed loop has already removed it. Before that, `silence` unregisters the source from the system, so another loop can use its descriptor.
//   LS3  The loop retains the LoopSource from its addition to its removal.
//   LS4  `disposeAndWait` on another thread returns after the running handler, and after the loop's thread has released the handler, `onDrop`
//        and their captures. The caller sees the effects of both.
//   LS5  A source ends once: one end or disposal releases the handler, `onDrop` and the use of the scheduler. `onDrop` reports an end at most
//        once, and never after a disposal.
// Checked by: "once a source is disposed on another thread, no handler begins, and its captures are gone", "a handler runs with the scheduler as the
//   current one, and may dispose its own source, whose captures are then gone".
// Models: swift/executors/loop_source.swift.

internal import CScheduler

/// A source of a scheduler's loop. The subclass determines its events.
/// The loop can end a source on the loop's thread; a disposal can end it on any thread. The first one to set `state.isOver` wins.
class LoopSource<Event: Sendable>: Disposable, @unchecked Sendable {
  // Unchecked, because a class with subclasses cannot be checked: mutable state is guarded by `state`, or belongs to the loop's thread.
  typealias Handler = @Sendable (Event) -> Void
  typealias OnDrop = @Sendable (SchedulerError) -> Void

  private struct State {
    var handler: Handler?
    var onDrop: OnDrop?
    var isOver = false  // the source has ended
    var runs = 0  // `disposeAndWait` waits until it is 0
  }

  private let counted = CountedDisposable()
  private let state: Protected<State>
  private let runEnded = UnfairLock.Condition()  // signalled when `runs` decreases
  private let core: TargetCore, marker: TargetCore?  // marker: the scheduler's, if several share the core
  /// Whether the loop has registered the source. Accessed on the loop's thread only.
  @exclusivity(unchecked) private final var isAdded = false

  init(on scheduler: SchedulerTarget, onDrop: OnDrop?, _ handler: @escaping Handler) {
    core = scheduler.core
    marker = scheduler.marker
    state = Protected(State(handler: handler, onDrop: onDrop))
  }

  /// Adds the source to the loop. Returns 0, or the C core's error.
  func add(to loop: OpaquePointer) -> Int32 { misuse("LoopSource.add", "each kind has its own: override it") }

  /// Unregisters the source from the system at once. Any thread. The loop must still remove the source.
  func silence(in loop: OpaquePointer) {}

  /// Removes the source from the loop, if it is still registered there.
  func remove(from loop: OpaquePointer) { misuse("LoopSource.remove", "each kind has its own: override it") }

  private final var loop: OpaquePointer { OpaquePointer(core.target) }  // a loop's first member is its target

  /// Adds the source to the loop: at once if the caller is on the loop's thread, otherwise in an action.
  final func begin() {
    core.use()  // until the end of the source
    let isReported = state.withLock { $0.onDrop != nil }
    guard csched_loop_is_on_thread(loop) else {
      _ = core.scheduler.schedule({ _ = self.addHere() }, isReported: isReported, onDrop: { _ in self.end(.stopped) })
      return
    }
    if addHere() == .stopped, !isReported { core.noteRefusal() }
  }

  /// Adds the source to the loop, on the loop's thread. Returns nil, or the error, which has ended the source.
  private final func addHere() -> SchedulerError? {
    guard !isDisposed else { return nil }
    let error = add(to: loop)
    guard error == 0 else {
      let error = reason(error)
      end(error)
      return error
    }
    isAdded = true
    _ = Unmanaged.passRetained(self)  // LS3: until the removal
    return nil
  }

  // MARK: Called by the C core, on the loop's thread

  /// Calls the handler, unless the source is over.
  final func tell(_ event: Event) {  // LS1: no call after a disposal
    if callHandler(event) { endRun() }
  }

  /// Decrements `runs`, after a handler call or a call of `end`. If the source is over, wakes the threads in `disposeAndWait`.
  private final func endRun() {
    let isAwaited = state.withLock { state in
      state.runs -= 1
      return state.isOver
    }
    if isAwaited { runEnded.broadcast() }
  }

  /// Calls the handler, and returns whether there was one. A separate function, so that its closure is released before `endRun` wakes waiters.
  @inline(never)
  private final func callHandler(_ event: Event) -> Bool {
    let handler = state.withLock { state -> Handler? in
      if state.handler != nil { state.runs += 1 }
      return state.handler
    }
    guard let handler else { return false }
    if let marker { marker.run { handler(event) } } else { handler(event) }
    return true
  }

  /// Called after the C core has removed the source. `error`: the cause, if the source ended by itself.
  final func removedByCore(_ error: Int32?) {  // LS3: the loop's reference
    guard isAdded else { return }
    isAdded = false
    end(error.map(reason))
    Unmanaged.passUnretained(self).release()
  }

  /// Removes the source, on the loop's thread.
  private final func removeHere() {
    guard isAdded else { return }
    isAdded = false
    remove(from: loop)
    Unmanaged.passUnretained(self).release()
  }

  // MARK: End

  /// Marks the source as over. Returns its closures, which the caller must release outside the lock; nil if the source was over already.
  /// `isRun`: increments `runs`, so `disposeAndWait` also waits until the caller calls `endRun`.
  private final func close(isRun: Bool = false) -> (Handler?, OnDrop?)? {
    state.withLock { state in
      guard !state.isOver else { return nil }  // LS5: first end wins
      state.isOver = true
      if isRun { state.runs += 1 }
      return (state.handler.take(), state.onDrop.take())
    }
  }

  /// Ends the source, and reports `error` if there is one. A concurrent `disposeAndWait` returns after the report and the release of the captures.
  private final func end(_ error: SchedulerError?) {
    let isOnLoop = csched_loop_is_on_thread(loop)  // elsewhere a capture's `disposeAndWait` would wait for this call
    if closeAndReport(error, isRun: isOnLoop), isOnLoop { endRun() }  // LS4: wake waiters after the release
  }

  /// Returns false if the source was over already. A separate function, so that its closures are released before `endRun` wakes waiters.
  @inline(never)
  private final func closeAndReport(_ error: SchedulerError?, isRun: Bool) -> Bool {
    guard let closures = close(isRun: isRun) else { return false }
    let onDrop = closures.1
    core.letGo()
    guard let error else { return true }
    if let onDrop {
      onDrop(error)
      return true
    }
    // Without onDrop, `stopped` is not reported: the program has stopped the scheduler itself.
    if error != .stopped {
      reportLine("\(type(of: self))", of: core.name, "it ends: \(error). Give onDrop to be notified.")
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
      core.submitOwn { self.removeHere() }  // LS2: removal on the loop's thread
    }
    core.letGo()
  }

  final func disposeAndWait() {
    dispose()
    if csched_loop_is_on_thread(loop) || core.isOrphaned { return }
    csched_pool_blocking_begin()
    state.withLock(on: runEnded, when: { $0.runs == 0 }) { _ in }
    csched_pool_blocking_end()
  }
}

private func reason(_ error: Int32) -> SchedulerError {
  csched_swift_is_stopped_(error) ? .stopped : .system(error)
}
