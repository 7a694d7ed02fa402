// Blocks a thread until `stop` is called, and runs the thread's loop meanwhile.
//
// States, under the lock
//   `hasBegun`, `isStopped`, `isClosed`: false, then true, which is final; in any order, except that `isClosed` implies
//   `hasBegun`
//   `loop`, `activation`: set while the waiting thread runs that loop
// Invariants
//   RL1  stop() ends the run of its own lock and no other run, whether it is called before, during or after that run.
//   RL2  Accepted actions are performed before the run returns, in order; refused actions are released.
//   RL3  Other threads use `loop` and `activation` under the lock only. Both are cleared before the loop and the
//        activation are freed.
//   RL4  The waiting thread sees everything that was done before the stop.
//   RL5  The timeout is never early. If stop() is called before the timeout, run() does not report a timeout.
//   RL6  When the wait is over, no task that dispatch submitted waits in the loop.
// Orderings: the lock's, the loop's.
// Models: swift/blocking/run_loop_lock.swift.

internal import CScheduler

/// Blocks the thread that calls ``run()`` until ``stop()`` is called, and meanwhile runs the thread's other work.
///
/// ```swift
/// let lock = RunLoopLock(timeout: .seconds(1))
/// lock.dispatch { download { lock.stop() } }
/// try lock.run()   // SchedulerError.timeout after a second
/// ```
///
/// 1. On the main thread it runs the actions of ``MainScheduler``; on a ``ThreadScheduler``'s thread it runs that
///    thread's actions and timers.
///    It does not run Dispatch's main queue, a `RunLoop`, or jobs of the main actor.
/// 2. While a pool thread waits, another thread replaces it in the pool. On any other thread the wait runs only actions
///    dispatched to this lock.
/// 3. Waits nest, on one thread and across threads. A stopped wait returns when the waits that run inside it have
///    ended. ``stop()`` ends the wait of its own lock and no other wait, however late the call is.
/// 4. Inside an action of ``CurrentThreadScheduler``, actions scheduled there during the wait run at once, as they do
///    outside such an action.
///    Actions that were pending before the wait run after the wait.
/// 5. An action of a ``SerialScheduler`` that waits blocks its queue: work of that queue cannot end the wait.
public final class RunLoopLock: Sendable {
  private let timeout: Duration?
  private let state = Protected(State())

  /// A dispatched action, and the task that was submitted to the loop to wake it (nil: no loop ran yet, so none was
  /// submitted).
  private typealias Dispatched = (action: @Sendable () -> Void, wake: ClosureTask?)

  // Unchecked, because of the pointers, which other threads use under the lock only (RL3).
  private struct State: @unchecked Sendable {
    var hasBegun = false  // `run` was called
    var isStopped = false  // `stop` was called
    var isClosed = false  // the wait has ended, and accepts no more actions
    var enclosingTarget: UnsafeMutablePointer<csched_target>?  // the target whose job called `run`; `nil` if no job did
    var loop: OpaquePointer?  // the loop that the waiting thread runs; nil before and after
    // this lock's run of `loop`, so that `stop` ends no other; nil without a run
    var activation: UnsafeMutablePointer<csched_activation>?
    private var actions: [Dispatched?] = []  // nil: performed
    private var next = 0  // the index of the first action in `actions` that has not been performed

    var count: Int { actions.count - next }  // the dispatched actions that have not been performed

    mutating func add(_ action: @escaping @Sendable () -> Void, waking wake: ClosureTask?) {
      actions.append((action, wake))
      Counted.closures(1)  // for the diagnostic count
    }

    /// Removes and returns the oldest action that has not been performed, or nil if there is none.
    mutating func takeFirst() -> Dispatched? {
      guard next < actions.count else { return nil }
      let first = actions[next].take()
      Counted.closures(-1)  // for the diagnostic count
      next += 1
      if next == actions.count { (actions, next) = ([], 0) }  // all performed: frees the array
      return first
    }
  }

  /// Creates a lock for one wait.
  ///
  /// - Parameter timeout: how long ``run()`` waits at most, from its start. `nil`, or more than the clock can hold,
  ///   waits without limit.
  ///   Zero or less performs what was dispatched before, and does not wait.
  public init(timeout: Duration? = nil) { self.timeout = timeout }
  deinit { Counted.closures(-state.withLock { $0.count }) }  // the actions that were dispatched and never performed

  /// Performs `action` on the thread in ``run()``, before ``run()`` returns, in the order of the calls. Call this on
  /// any thread, before or during the run. If `action` schedules actions on ``CurrentThreadScheduler``, they run after
  /// `action`.
  ///
  /// Inside `action`, ``Schedulers/current`` is the scheduler that was current at the call of ``run()``. If there was
  /// none, it is ``MainScheduler/instance`` on the main thread, and ``CurrentThreadScheduler`` on any other thread.
  ///
  /// Returns whether the action was accepted. After the wait has ended, no action is accepted, and `action` is released
  /// without a call.
  ///
  /// - Parameter action: what to run, on the thread of the wait.
  @discardableResult
  public func dispatch(_ action: @escaping @Sendable () -> Void) -> Bool {
    state.withLock { state in
      if state.isClosed { return false }
      // the task wakes the loop, and performs the oldest action; nil: no loop runs yet, and `wait` performs the action
      state.add(action, waking: state.loop.map { submitNext(to: $0) })
      return true
    }
  }

  /// Ends the wait, after the actions that were dispatched before. Call this on any thread, any number of times. If it
  /// is called before ``run()``, ``run()`` performs the dispatched actions and returns. After the wait it does nothing.
  public func stop() {
    state.withLock { state in
      state.isStopped = true
      if let activation = state.activation { csched_activation_end_run(activation) }
    }
  }

  /// Waits for ``stop()``. Throws ``SchedulerError/timeout`` if ``stop()`` is not called in time.
  ///
  /// You may call this once; a second call stops the process with a message.
  @available(*, noasync, message: "it blocks a thread of Swift's own: await a continuation, or scheduler.perform")
  public func run() throws(SchedulerError) {
    if !wait() { throw .timeout }
  }

  // MARK: Waiting

  /// Performs `first` like a dispatched action, and waits for `stop`. At the timeout, asks `givesUp`: true: the wait
  /// ends; false: it continues until `stop` is called. Returns whether `stop` was called.
  @usableFromInline
  func wait(beginningWith first: () -> Void = {}, givesUp: () -> Bool = { true }) -> Bool {
    let isSecond = state.withLock { state in
      defer { state.hasBegun = true }
      return state.hasBegun
    }
    if isSecond { misuse("RunLoopLock.run", "called a second time. Make a RunLoopLock for each wait.") }
    let deadline = timeout?.deadline ?? csched_time.max
    // the actions that wait in this thread's trampoline do not run during the wait; they run after it
    var savedTrampoline = csched_trampoline_aside()
    csched_trampoline_set_aside(&savedTrampoline)
    defer { csched_trampoline_put_back(&savedTrampoline) }
    // `inTrampoline` performs each action inside this target
    state.withLock { $0.enclosingTarget = csched_target_current() }
    inTrampoline(first)
    var isOver = false
    if let loop = Self.loopHere() { isOver = wait(in: loop, until: deadline, givesUp: givesUp) }
    if !isOver { waitInOwnLoop(until: deadline, givesUp: givesUp) }  // this thread runs no loop, or its loop was closed
    state.withLock { $0.isClosed = true }  // RL2: first, so that `dispatch` accepts no action after the next line
    while performNext() {}  // RL2: the actions that were accepted before
    return isStopped
  }

  /// Returns the loop that this thread runs: on the main thread the main loop, running or not; elsewhere nil if no loop
  /// runs.
  private static func loopHere() -> OpaquePointer? {
    guard MainCore.isOnThread else { return csched_loop_current() }
    MainCore.shared.requireMainThread("run")  // attaches the main loop to this thread if needed
    return MainCore.shared.loop
  }

  private var isStopped: Bool { state.withLock { $0.isStopped } }

  /// Publishes `loop` to `dispatch` and `stop`, performs the actions that were dispatched before, and runs the loop.
  /// Returns true when the wait is over, false if the loop was closed first.
  private func wait(in loop: OpaquePointer, until deadline: csched_time, givesUp: () -> Bool) -> Bool {
    var activation = csched_activation()
    return withUnsafeMutablePointer(to: &activation) { activation in
      csched_activation_init(activation, loop)
      let dispatched = state.withLock { state in
        (state.loop, state.activation) = (loop, activation)
        // RL1: a `stop` before this line has found no activation to end, so this line ends the run at its start
        if state.isStopped { csched_activation_end_run(activation) }
        return state.count
      }
      // RL3: `activation` ends with this frame; `stop` must not use it then
      defer { state.withLock { ($0.loop, $0.activation) = (nil, nil) } }
      for _ in 0..<dispatched { perform(on: loop) }  // for later actions `dispatch` submits tasks to the loop
      return run(loop, activation, until: deadline, givesUp: givesUp)
    }
  }

  /// Runs the loop until the stop or the timeout. Returns true when the wait is over, false if the loop was closed
  /// first.
  private func run(
    _ loop: OpaquePointer, _ activation: UnsafeMutablePointer<csched_activation>, until deadline: csched_time,
    givesUp: () -> Bool
  ) -> Bool {
    var deadline = deadline
    var outerRunMustEnd = false
    csched_pool_blocking_begin()  // if this is a pool thread, another thread replaces it until the end call
    defer {
      csched_pool_blocking_end()
      if outerRunMustEnd { csched_loop_end_run(loop) }
    }
    while true {
      switch csched_loop_run_activation(loop, activation, deadline) {
      case CSCHED_RUN_ENDED:
        if isStopped { return true }
        // csched_loop_end_run was called, which is meant for the enclosing run of this loop: repeat that call after
        // this wait
        outerRunMustEnd = true
      case CSCHED_RUN_TIMED_OUT:
        if isStopped || givesUp() { return true }
        deadline = csched_time.max  // `givesUp` returned false, so `stop` will be called: wait without a limit
      default: return false  // CSCHED_RUN_CLOSED
      }
    }
  }

  /// Waits in a new loop, to which only this lock submits. For a thread that runs no loop.
  private func waitInOwnLoop(until deadline: csched_time, givesUp: () -> Bool) {
    var created: OpaquePointer?
    guard csched_loop_create(&created) == 0, let loop = created else {
      misuse("RunLoopLock.run", "no memory for a loop")
    }
    defer { csched_loop_destroy(loop) }
    _ = wait(in: loop, until: deadline, givesUp: givesUp)  // discarded: the caller reads `isStopped`
  }

  // MARK: Performing

  /// Performs the next dispatched action so that a wait nested in the action runs `loop` too: such a wait calls
  /// `loopHere`. If this thread does not run `loop` yet, `loopHere` finds it only inside a job of `loop`, so this
  /// performs the action as such a job.
  private func perform(on loop: OpaquePointer) {
    if loop == Self.loopHere() {
      performNext()
    } else {
      submitNext(to: loop)
      csched_loop_run_ready(loop, 1)  // runs that one job
    }
  }

  /// Submits a task to the loop that performs the next dispatched action.
  @discardableResult
  private func submitNext(to loop: OpaquePointer) -> ClosureTask {
    let task = ClosureTask { self.performNext() }
    task.submit(to: csched_loop_target(loop))
    return task
  }

  /// Performs the next dispatched action. Returns false if there is none.
  @discardableResult
  private func performNext() -> Bool {
    guard let (action, wake) = state.withLock({ $0.takeFirst() }) else { return false }
    inTrampoline(action)
    wake?.dispose()  // RL6: `wake` need not be the task that runs here; without this it would stay in the loop
    return true
  }

  /// Calls `body` inside the scheduler that was current at the call of `run`, or else inside the thread's own
  /// scheduler. Then runs the actions that `body` scheduled on ``CurrentThreadScheduler``.
  private func inTrampoline(_ body: () -> Void) {
    // false: an outer call has opened the trampoline, and runs these actions later
    let isOutermost = csched_trampoline_enter()
    let trampoline = CurrentThreadScheduler.instance.core
    if let enclosingTarget = state.withLock({ $0.enclosingTarget }) {
      TargetCore.run(body, inside: enclosingTarget)
    } else {
      (MainCore.isOnThread ? MainCore.shared : trampoline).run(body)
    }
    if isOutermost { trampoline.run { csched_trampoline_leave() } }  // runs the actions that wait in the trampoline
  }
}
