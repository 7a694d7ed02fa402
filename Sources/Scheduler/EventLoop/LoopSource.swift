// A source of a loop: calls a handler on the loop's thread for each event, until it is disposed or ends on its own.
//
// States, under the lock: `isOver` (final): the source has ended or was disposed, and `handler` and `onDrop` are nil.
//   `runs`: calls of the handler in progress on the loop's thread. `ending`: the thread that ends or disposes the
//   source at present; 0: none.
// Invariants
//   LS1  A handler call starts only if the source is not over, checked under the lock. A disposal sets `isOver` under
//        the lock. So no handler call starts after a disposal has returned, on any thread.
//   LS2  The loop's structure is accessed on the loop's thread only. A disposal on another thread calls `unregister`,
//        which unregisters the source from the system, so another loop can use its descriptor. It then submits an
//        action that removes the source; a closed loop has already removed it.
//   LS3  The loop retains the LoopSource from the addition of the C source to its removal, because the C source's
//        `context` does not.
//   LS4  `disposeAndWait` on another thread returns after the running handler, and after the thread that ends the
//        source has released the handler, `onDrop` and their captures, and has unregistered the source. The caller sees
//        the effects of all.
//   LS5  A source ends once: one end or disposal releases the handler, `onDrop` and the use of the scheduler. `onDrop`
//        reports an end at most once, and never after a disposal.
// Models: swift/executors/loop_source.swift.

internal import CScheduler

/// A source of a scheduler's loop. The subclass determines its events.
/// The loop can end a source on the loop's thread; a disposal can end it on any thread. The first one to set
/// `state.isOver` wins.
class LoopSource<Event: Sendable>: Disposable, @unchecked Sendable {
  // Unchecked, because a class with subclasses cannot be checked: mutable state is guarded by `state`, or belongs to
  // the loop's thread.
  typealias Handler = @Sendable (Event) -> Void
  typealias OnDrop = @Sendable (SchedulerError) -> Void

  private struct State {
    var handler: Handler?
    var onDrop: OnDrop?
    var isOver = false  // the source has ended, or was disposed
    var runs = 0  // calls of the handler in progress; `disposeAndWait` waits for 0
    // the thread that ends or disposes the source; 0: none. `disposeAndWait` of another thread waits for 0
    var ending: UInt = 0
  }

  private let counted = CountedDisposable()  // for the diagnostic count of disposables
  private let state: Protected<State>
  private let runEnded = UnfairLock.Condition()  // signalled when `runs` decreases, and when `ending` is 0 again
  // `marker`: if several schedulers share the core, makes the source's scheduler the current one
  private let core: TargetCore, marker: TargetCore?
  /// Whether the loop has registered the source. Accessed on the loop's thread only.
  @exclusivity(unchecked) private final var isAdded = false

  init(on scheduler: SchedulerTarget, onDrop: OnDrop?, _ handler: @escaping Handler) {
    core = scheduler.core
    marker = scheduler.marker
    state = Protected(State(handler: handler, onDrop: onDrop))
  }

  /// Adds the source to the loop. Returns 0, or the C core's error.
  func add(to loop: OpaquePointer) -> Int32 { misuse("LoopSource.add", "each kind has its own: override it") }

  /// Takes what must be the source's from now on, before the loop's thread calls `add`. Any thread. `unregister` ends
  /// it, if `add` is not called.
  func prepare(in loop: OpaquePointer) {}

  /// Unregisters the source from the system at once, so that it reports no more events. Any thread. `remove` must
  /// follow on the loop's thread.
  func unregister(in loop: OpaquePointer) {}

  /// Removes the source from the loop, if it is still registered there. On the loop's thread.
  func remove(from loop: OpaquePointer) { misuse("LoopSource.remove", "each kind has its own: override it") }

  private final var loop: OpaquePointer { OpaquePointer(core.target) }  // a loop's first member is its target

  /// Adds the source to the loop: at once if the caller is on the loop's thread, otherwise in an action.
  final func begin() {
    core.use()  // keeps the scheduler's thread running; the end or the disposal of the source calls `endUse`
    let callerReportsRefusal = state.withLock { $0.onDrop != nil }  // whether `onDrop` reports a refusal
    guard csched_loop_is_on_thread(loop) else {
      prepare(in: loop)
      _ = core.scheduler.schedule(
        { _ = self.addOnLoop() }, callerReportsRefusal: callerReportsRefusal,
        onDrop: { _ in  // a stopped scheduler refuses or drops the action
          if !self.core.isOrphaned { self.unregister(in: self.loop) }  // orphaned: a fork child lacks the loop's thread
          self.end(.stopped)
        })
      return
    }
    if addOnLoop() == .stopped, !callerReportsRefusal { core.noteRefusal() }  // a debug build prints a line
  }

  /// Adds the source to the loop, on the loop's thread, unless it was disposed. Returns nil, or the error, which has
  /// ended the source.
  private final func addOnLoop() -> SchedulerError? {
    guard !isDisposed else { return nil }  // disposed before this action ran
    let error = add(to: loop)
    guard error == 0 else {
      let error = schedulerError(error)
      end(error)
      return error
    }
    isAdded = true
    _ = Unmanaged.passRetained(self)  // LS3: `removeOnLoop` or `handleRemovalByCore` releases this reference
    return nil
  }

  // MARK: Called by the C core, on the loop's thread

  /// Calls the handler, unless the source is over.
  final func tell(_ event: Event) {
    // LS4: `callHandler` has released its reference to the handler, so waiters may wake
    if callHandler(event) { endRun() }
  }

  /// Ends one call of the handler. If the source is over, wakes the threads in `disposeAndWait`, which wait until
  /// `runs` is 0.
  private final func endRun() {
    let isAwaited = state.withLock { state in
      state.runs -= 1
      return state.isOver
    }
    if isAwaited { runEnded.broadcast() }
  }

  /// Calls the handler, unless the source is over. Returns whether it called; then the caller must call `endRun`. Not
  /// inlined, so that its reference to the closure is released before `endRun` wakes the threads in `disposeAndWait`.
  @inline(never)
  private final func callHandler(_ event: Event) -> Bool {
    let handler = state.withLock { state -> Handler? in  // LS1: nil after a disposal
      if state.handler != nil { state.runs += 1 }
      return state.handler
    }
    guard let handler else { return false }
    if let marker { marker.run { handler(event) } } else { handler(event) }  // `marker.run` sets `Schedulers.current`
    return true
  }

  /// Ends the source, after the C core has removed it from the loop. `error`: the cause; nil if the source has served
  /// its purpose (a process ended).
  final func handleRemovalByCore(_ error: Int32?) {
    guard isAdded else { return }  // false: the handler has just disposed the source
    isAdded = false
    end(error.map(schedulerError))
    Unmanaged.passUnretained(self).release()  // LS3: ends the loop's reference, which may be the last one
  }

  /// Removes the source from the loop, unless it was never added, or was removed before. On the loop's thread.
  private final func removeOnLoop() {
    guard isAdded else { return unregister(in: loop) }  // ends what `prepare` has taken
    isAdded = false
    remove(from: loop)
    Unmanaged.passUnretained(self).release()  // LS3: ends the loop's reference, which may be the last one
  }

  // MARK: End

  /// Ends the source, and reports `error` if there is one. A `disposeAndWait` of another thread returns after the
  /// report and the release of the captures.
  private final func end(_ error: SchedulerError?) {
    if close(reporting: error, isDisposal: false) { endClose() }  // LS4: waiters wake after the closures' release
  }

  /// Marks the source as over, and reports `error`. Returns false if the source was over already; otherwise the caller
  /// calls `endClose`. A disposal ends the `use` of `begin` itself, later. Not inlined, so that its references to the
  /// closures are gone when it returns.
  @inline(never)
  private final func close(reporting error: SchedulerError?, isDisposal: Bool) -> Bool {
    let closures = state.withLock { state -> (Handler?, OnDrop?)? in
      guard !state.isOver else { return nil }  // LS5: only the first end gets the closures, to release and report once
      state.isOver = true
      state.ending = csched_swift_thread_number_()
      return (state.handler.take(), state.onDrop.take())
    }
    guard let closures else { return false }
    let onDrop = closures.1  // may be called; the handler is only released
    if !isDisposal { core.endUse() }  // ends the `use` of `begin`
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

  /// Wakes the threads in `disposeAndWait`, which wait until no other thread ends the source.
  private final func endClose() {
    state.withLock { $0.ending = 0 }
    runEnded.broadcast()
  }

  final var isDisposed: Bool { state.withLock { $0.isOver } }

  /// Ends the source without a call of `onDrop`. On another thread, the removal from the loop follows later, as an
  /// action.
  final func dispose() {
    guard close(reporting: nil, isDisposal: true) else { return }  // releases the closures, outside the lock
    if csched_loop_is_on_thread(loop) {
      removeOnLoop()
    } else if !core.isOrphaned {  // orphaned: a fork child lacks the loop's thread
      unregister(in: loop)
      core.submitInternal { self.removeOnLoop() }  // LS2: only the loop's thread may change the loop's structure
    }
    endClose()  // LS4: the descriptor is the caller's again
    core.endUse()  // ends the `use` of `begin`
  }

  final func disposeAndWait() {
    dispose()
    if core.isOrphaned { return }  // in a fork child no handler runs
    let thread = csched_swift_thread_number_(), isOnLoop = csched_loop_is_on_thread(loop)
    csched_pool_blocking_begin()  // if this is a pool thread, the pool replaces it during the wait
    // Does not wait for itself: on the loop's thread the caller may be the handler; and a capture's `deinit` or
    // `onDrop` may call this.
    state.withLock(on: runEnded, when: { (isOnLoop || $0.runs == 0) && ($0.ending == 0 || $0.ending == thread) }) { _ in
    }
    csched_pool_blocking_end()
  }
}

/// Returns the C core's error as a SchedulerError: `.stopped` if the loop was closed.
private func schedulerError(_ error: Int32) -> SchedulerError {
  csched_swift_is_stopped_error_(error) ? .stopped : .system(error)
}
