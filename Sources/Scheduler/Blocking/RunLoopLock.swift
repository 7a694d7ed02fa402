// Blocks a thread until it is stopped, and runs the thread's loop meanwhile.
//
// States, under the lock
//   `hasBegun`, `isStopped`, `isClosed`: final, in any order, except that `isClosed` implies `hasBegun`
//   `loop`, `activation`: set while the thread in the run serves that loop
// Invariants
//   RL1  A stop ends its own run and no other, whether it comes before, during or after it.
//   RL2  Accepted actions are performed before the run returns, in order; refused ones are released.
//   RL3  The loop and its activation are used under the lock only. The references here are cleared before they end.
//   RL4  The waiter sees everything before the stop.
//   RL5  The timeout is never early; a stop in time is no timeout.
//   RL6  When the wait is over, no task that dispatch submitted waits in the loop.
// Orderings: the lock's, the loop's.
// Checked by: "a stop before, during and after the run, and many of them, end it once and nothing else",
//   "every dispatch that was taken runs, however it meets the end", "a late stop, again and again, never ends another wait".
// Models: swift/blocking/run_loop_lock.swift.

internal import CScheduler

/// Blocks the thread that runs it until it is stopped, and meanwhile runs the thread's other work.
///
/// ```swift
/// let lock = RunLoopLock(timeout: .seconds(1))
/// lock.dispatch { download { lock.stop() } }
/// try lock.run()   // SchedulerError.timeout after a second
/// ```
///
/// 1. On the main thread it runs the actions of ``MainScheduler``; on a ``ThreadScheduler``'s thread it runs that thread's actions and timers.
///    It does not run Dispatch's main queue, a `RunLoop`, or jobs of the main actor.
/// 2. On a pool thread, another thread takes its place. On any other thread it runs only what is dispatched to this lock.
/// 3. Waits nest, on one thread and across threads. A stopped wait returns when the waits that run inside it have ended. A stop ends its own
///    wait and no other, however late it comes.
/// 4. Inside an action of ``CurrentThreadScheduler`` it sets the trampoline aside. Actions scheduled there during the wait run at once, as
///    they do outside. Actions that were pending before the wait run after it.
/// 5. An action of a ``SerialScheduler`` that waits blocks its queue: work of that queue cannot end the wait.
public final class RunLoopLock: Sendable {
  private let timeout: Duration?
  private let state = Protected(State())

  /// An action, and the task that was submitted to the loop to perform it.
  private typealias Dispatched = (action: @Sendable () -> Void, wake: ClosureTask?)

  // Unchecked, because of the pointers: they are used under the lock only, and cleared before what they point to is freed.
  private struct State: @unchecked Sendable {
    /// `run` was called.
    var hasBegun = false
    /// `stop` was called.
    var isStopped = false
    /// The wait has ended, and accepts no more actions.
    var isClosed = false
    /// The target whose job called `run`; `nil` if no job did.
    var enclosingTarget: UnsafeMutablePointer<csched_target>?
    var loop: OpaquePointer?
    /// The run of the loop, by which `stop` ends it.
    var activation: UnsafeMutablePointer<csched_activation>?
    private var actions: [Dispatched?] = []
    private var next = 0

    var count: Int { actions.count - next }

    mutating func add(_ action: @escaping @Sendable () -> Void, waking wake: ClosureTask?) {
      actions.append((action, wake))
      Counted.closures(1)
    }

    mutating func takeFirst() -> Dispatched? {
      guard next < actions.count else { return nil }
      let first = actions[next].take()
      Counted.closures(-1)
      next += 1
      if next == actions.count { (actions, next) = ([], 0) }
      return first
    }
  }

  /// Creates a lock for one wait.
  ///
  /// - Parameter timeout: how long ``run()`` waits at most, from its start. `nil`, or more than the clock can hold, waits without limit.
  ///   Zero or less performs what was dispatched before, and does not wait.
  public init(timeout: Duration? = nil) { self.timeout = timeout }

  deinit { Counted.closures(-state.withLock { $0.count }) }

  /// Performs `action` on the thread in ``run()``, before that returns, in the order of the calls. Call this on any thread, before or during
  /// the run. As in an action of ``CurrentThreadScheduler``, actions that `action` schedules there run after it.
  ///
  /// ``Schedulers/current`` is the same inside `action` as at the wait. If there is none, it is ``MainScheduler/instance`` on the main thread,
  /// and ``CurrentThreadScheduler`` on any other.
  ///
  /// Returns whether the action was accepted. After the wait has ended it is not, and `action` is released without a call.
  ///
  /// - Parameter action: what to run, on the thread of the wait.
  @discardableResult
  public func dispatch(_ action: @escaping @Sendable () -> Void) -> Bool {
    state.withLock { state in
      if state.isClosed { return false }
      state.add(action, waking: state.loop.map { submitNext(to: $0) })
      return true
    }
  }

  /// Ends the wait, after the actions that were dispatched before. Call this on any thread, any number of times. After a
  /// stop that comes first, `run` performs the dispatched actions and returns. A stop after the end does nothing.
  public func stop() {
    state.withLock { state in
      state.isStopped = true
      if let activation = state.activation { csched_activation_end_run(activation) }
    }
  }

  /// Waits for ``stop()``. Throws ``SchedulerError/timeout`` if that has not come in time.
  ///
  /// You may call this once; a second call stops the process with a message.
  @available(*, noasync, message: "it blocks a thread of Swift's own: await a continuation, or scheduler.perform")
  public func run() throws(SchedulerError) {
    if !wait() { throw .timeout }
  }

  // MARK: Waiting

  /// Performs `first` as if dispatched, and waits. At the timeout `givesUp` returns whether to end the wait; if false, it continues until the
  /// stop. Returns whether the wait was stopped.
  @usableFromInline
  func wait(beginningWith first: () -> Void = {}, givesUp: () -> Bool = { true }) -> Bool {
    let isSecond = state.withLock { state in
      defer { state.hasBegun = true }
      return state.hasBegun
    }
    if isSecond { misuse("RunLoopLock.run", "called a second time. Make a RunLoopLock for each wait.") }
    let deadline = timeout?.deadline ?? csched_time.max
    var aside = csched_trampoline_aside()
    csched_trampoline_set_aside(&aside)
    defer { csched_trampoline_put_back(&aside) }
    state.withLock { $0.enclosingTarget = csched_target_current() }
    inTrampoline(first)
    var isOver = false
    if let loop = Self.loopHere() { isOver = serve(loop, until: deadline, givesUp: givesUp) }
    if !isOver { serveAlone(until: deadline, givesUp: givesUp) }
    state.withLock { $0.isClosed = true }
    while performNext() {}
    return isStopped
  }

  /// The loop that this thread can run, if it has one.
  private static func loopHere() -> OpaquePointer? {
    guard MainCore.isHere else { return csched_loop_current() }
    MainCore.shared.requireMain("run")
    return MainCore.shared.loop
  }

  private var isStopped: Bool { state.withLock { $0.isStopped } }

  /// Runs the loop until the wait is over, or the loop is closed. Returns whether the wait is over.
  private func serve(_ loop: OpaquePointer, until deadline: csched_time, givesUp: () -> Bool) -> Bool {
    var activation = csched_activation()
    return withUnsafeMutablePointer(to: &activation) { activation in
      csched_activation_init(activation, loop)
      let dispatched = state.withLock { state in
        (state.loop, state.activation) = (loop, activation)
        if state.isStopped { csched_activation_end_run(activation) }
        return state.count
      }
      defer { state.withLock { ($0.loop, $0.activation) = (nil, nil) } }
      for _ in 0..<dispatched { perform(on: loop) }
      return run(loop, activation, until: deadline, givesUp: givesUp)
    }
  }

  private func run(
    _ loop: OpaquePointer, _ activation: UnsafeMutablePointer<csched_activation>, until deadline: csched_time,
    givesUp: () -> Bool
  ) -> Bool {
    var deadline = deadline
    var isForAnother = false
    csched_pool_blocking_begin()
    defer {
      csched_pool_blocking_end()
      if isForAnother { csched_loop_end_run(loop) }
    }
    while true {
      switch csched_loop_run_activation(loop, activation, deadline) {
      case CSCHED_RUN_ENDED:
        if isStopped { return true }
        isForAnother = true  // a stop of the loop is for the outer run
      case CSCHED_RUN_TIMED_OUT:
        if isStopped || givesUp() { return true }
        deadline = csched_time.max
      default: return false
      }
    }
  }

  /// Waits on an own loop, to which no other code submits.
  private func serveAlone(until deadline: csched_time, givesUp: () -> Bool) {
    var created: OpaquePointer?
    guard csched_loop_create(&created) == 0, let loop = created else {
      misuse("RunLoopLock.run", "no memory for a loop")
    }
    defer { csched_loop_destroy(loop) }
    _ = serve(loop, until: deadline, givesUp: givesUp)
  }

  // MARK: Performing

  /// Performs the next action so that waits inside it find and serve the loop.
  private func perform(on loop: OpaquePointer) {
    if loop == Self.loopHere() {
      performNext()
    } else {
      submitNext(to: loop)
      csched_loop_run_ready(loop, 1)
    }
  }

  @discardableResult
  private func submitNext(to loop: OpaquePointer) -> ClosureTask {
    let task = ClosureTask { self.performNext() }
    task.submit(to: csched_loop_target(loop))
    return task
  }

  @discardableResult
  private func performNext() -> Bool {
    guard let (action, wake) = state.withLock({ $0.takeFirst() }) else { return false }
    inTrampoline(action)
    wake?.dispose()  // otherwise it would stay in the loop after the wait
    return true
  }

  /// Calls `body` inside the target that the wait is inside; if there is none, inside the thread's own scheduler. Then runs the actions that
  /// `body` scheduled on ``CurrentThreadScheduler``, inside that scheduler.
  private func inTrampoline(_ body: () -> Void) {
    let isOutermost = csched_trampoline_enter()
    let trampoline = CurrentThreadScheduler.instance.core
    if let enclosingTarget = state.withLock({ $0.enclosingTarget }) {
      TargetCore.run(body, inside: enclosingTarget)
    } else {
      (MainCore.isHere ? MainCore.shared : trampoline).run(body)
    }
    if isOutermost { trampoline.run { csched_trampoline_leave() } }
  }
}
