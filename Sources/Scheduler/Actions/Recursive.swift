internal import CScheduler

extension ImmediateSchedulerType {
  /// Schedules `action`, which can schedule itself again with a new state, any number of times, at once or later, on
  /// any thread.
  ///
  /// Stack and memory use stay constant for any number of steps. Each step is an action of its own, and other work runs
  /// in between. If the scheduler would run a new step inside the step that requests it, the new step waits until the
  /// running step has ended. Disposing the result ends the recursion: no step starts after the disposal.
  ///
  /// ```swift
  /// CurrentThreadScheduler.instance.scheduleRecursive(1) { n, again in
  ///   print(n)
  ///   if n < 3 { again(n + 1) }
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - state: the state of the first step.
  ///   - action: what each step runs. It calls its second argument, with a state, to schedule one more step.
  @discardableResult
  public func scheduleRecursive<State: Sendable>(
    _ state: State, action: @escaping @Sendable (State, @escaping @Sendable (State) -> Void) -> Void
  ) -> any Disposable {
    let recursion = Recursion(scheduler: self, body: RecursiveBody(action))
    recursion.schedule(step(state, of: RecursionLifetime(recursion)))
    return recursion
  }

  /// Schedules `action`, which can schedule itself again.
  ///
  /// - Parameter action: what each step runs. It calls its argument to schedule one more step.
  @discardableResult
  public func scheduleRecursive(
    _ action: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
  ) -> any Disposable {
    return scheduleRecursive(()) { _, again in action { again(()) } }
  }
}

/// The user's closure. This class keeps `Recursion` non-generic: the caller's module cannot specialise code that is
/// generic over the state, and the runtime would look up metadata in each step (1 µs of 1.4).
private final class RecursiveBody<State: Sendable>: Sendable {
  let action: @Sendable (State, @escaping @Sendable (State) -> Void) -> Void
  init(_ action: @escaping @Sendable (State, @escaping @Sendable (State) -> Void) -> Void) { self.action = action }
}

/// Returns a closure that runs one step: it calls the user's closure, the `RecursiveBody` in its argument, with
/// `state`.
private func step<State: Sendable>(_ state: State, of owner: RecursionLifetime) -> Recursion.Step {
  { body in
    unsafeDowncast(body, to: RecursiveBody<State>.self).action(state) { owner.recursion.schedule(step($0, of: owner)) }
  }
}

/// Retained by each step, and by each closure that can schedule another step. Its deinit ends the recursion, because no
/// step can follow.
private final class RecursionLifetime: Sendable {
  let recursion: Recursion
  init(_ recursion: Recursion) { self.recursion = recursion }
  deinit { recursion.dispose() }
}

/// A scheduled step. Only the closure given to the scheduler retains this object, so `deinit` without `begin` means
/// that the step was dropped.
private final class ScheduledStep: Sendable {
  private let recursion: Recursion
  private let number: UInt64
  // Unsafe: only the thread that starts the step, and deinit, access it. One element; empty after the start.
  // An array, not an optional: Swift 6.3 releases a captured closure once too often when it is consumed.
  nonisolated(unsafe) private var step: [Recursion.Step]

  init(_ step: @escaping Recursion.Step, number: UInt64, of recursion: Recursion) {
    (self.step, self.number, self.recursion) = ([step], number, recursion)
  }

  deinit { if !step.isEmpty { recursion.removePending(number) } }

  /// Runs the step, unless the recursion was disposed. The scheduler calls this once.
  func begin() {
    guard recursion.removePending(number) else { return }  // false: `dispose` has removed the step
    var due: [Recursion.Step] = []
    swap(&due, &step)
    recursion.runSteps(&due)
  }
}

/// A recursive action, with its pending steps: those that are scheduled and have not started.
private final class Recursion: Disposable {
  private let counted = CountedDisposable()  // for the diagnostic count of disposables
  typealias Body = AnyObject & Sendable
  typealias Step = @Sendable (any Body) -> Void

  /// A thread that is inside a step or inside `dispose`.
  private struct Inside {
    let thread: UInt
    /// Steps that were scheduled during the thread's step and would have run nested in it. The thread runs them next.
    var nested: [Step] = []
  }

  private struct Steps {
    /// The disposable of each pending step, by number; `.some(nil)` until the scheduler has returned it.
    var pending: [UInt64: (any Disposable)?] = [:]
    var newestNumber: UInt64 = 0  // steps are numbered in the order of scheduling
    var inside: [Inside] = []  // the threads that `disposeAndWait` waits for; a thread may be listed twice
    var isDisposed = false
    var isAwaited = false  // another thread sleeps in `disposeAndWait` until no thread is inside
    var body: (any Body)?  // the user's closure; nil after the disposal
    // of the steps that `dispose` has removed. One may have just started, and still hold its captures
    var disposed: [any Disposable] = []

    /// Removes an entry of `inside`. Returns whether the caller must wake waiters, which then check again.
    mutating func removeThread(at index: Int) -> Bool {
      inside.remove(at: index)
      defer { isAwaited = false }
      return isAwaited
    }
  }

  private let scheduler: (any ImmediateSchedulerType)?  // nil if `unretainedScheduler` is used
  /// Used in place of `scheduler` if the scheduler drops its actions when it is released: a pending step that retained
  /// it would prevent its release. Unsafe: only the runtime changes the reference, when the scheduler is released.
  nonisolated(unsafe) private weak var unretainedScheduler: (any DropsWhenReleased)?
  /// The immediate scheduler would run a step inside the step that schedules it. Instead, such a step is added to
  /// `nested`, without a submission.
  private let isImmediate: Bool
  private let steps: Protected<Steps>
  private let threadLeft = Occurrence()  // happens when a thread has left `inside` and another waits

  init(scheduler: any ImmediateSchedulerType, body: any Body) {
    unretainedScheduler = scheduler as? any DropsWhenReleased
    self.scheduler = unretainedScheduler == nil ? scheduler : nil
    isImmediate = scheduler is ImmediateScheduler
    steps = Protected(Steps(body: body))
    Counted.closures(1)  // for the diagnostic count
  }

  /// Schedules `step`, unless the recursion is disposed.
  func schedule(_ step: @escaping Step) {
    let thread = csched_swift_thread_number_()
    let number: UInt64? = steps.withLock {
      guard !$0.isDisposed else { return nil }
      if isImmediate, let here = $0.inside.firstIndex(where: { $0.thread == thread }) {
        $0.inside[here].nested.append(step)  // `runSteps` of this thread runs it
        return nil
      }
      $0.newestNumber += 1
      $0.pending[$0.newestNumber] = .some(nil)  // pending, without a disposable yet
      return $0.newestNumber
    }
    guard let number else { return }
    let token = submit(step, number)
    let isDisposed = steps.withLock {
      if $0.pending[number] != nil { $0.pending[number] = token }  // still pending: not started, not disposed
      return $0.isDisposed
    }
    if isDisposed { token.dispose() }  // `dispose` ran during the submission, and found no token
  }

  /// Submits the step to the scheduler. Returns its disposable; a `NopDisposable` if the scheduler has been released.
  private func submit(_ step: @escaping Step, _ number: UInt64) -> any Disposable {
    let scheduled = ScheduledStep(step, number: number, of: self)
    return (scheduler ?? unretainedScheduler)?.schedule { scheduled.begin() } ?? NopDisposable()
  }

  /// Removes the step from the pending steps. Returns false if `dispose` has removed it.
  @discardableResult
  fileprivate func removePending(_ number: UInt64) -> Bool {
    steps.withLock({ $0.pending.removeValue(forKey: number) }) != nil  // its disposable is released outside the lock
  }

  /// Runs the steps in `due`, then those that are added to `nested` meanwhile. If this thread is inside a step already,
  /// the outer call runs `due`. Only `due` retains the steps. So this thread releases their captures while it is still
  /// in `inside`, and `disposeAndWait` waits for that.
  fileprivate func runSteps(_ due: inout [Step]) {
    let thread = csched_swift_thread_number_()
    let isOutermost = steps.withLock {
      if let here = $0.inside.firstIndex(where: { $0.thread == thread }) {
        $0.inside[here].nested += due
        return false
      }
      $0.inside.append(Inside(thread: thread))
      return true
    }
    guard isOutermost else { return }
    while !due.isEmpty {
      for step in due {
        // nil: disposed; the other steps are released uncalled
        guard let body = steps.withLock({ $0.body }) else { break }
        step(body)
      }
      due.removeAll(keepingCapacity: true)
      let isAwaited = steps.withLock {
        let here = $0.inside.firstIndex { $0.thread == thread }!
        swap(&due, &$0.inside[here].nested)
        // no nested step: this thread leaves; true: threads wait for that
        return due.isEmpty && $0.removeThread(at: here)
      }
      if isAwaited { threadLeft.signal() }  // wakes the threads in `disposeAndWait`
    }
  }

  var isDisposed: Bool { steps.withLock { $0.isDisposed } }

  func dispose() {
    let thread = csched_swift_thread_number_()
    let (tokens, body) = steps.withLock {
      $0.isDisposed = true
      $0.inside.append(Inside(thread: thread))  // waiters wait until this thread has released the captures
      let pending = $0.pending
      $0.pending = [:]
      return (pending, $0.body.take())
    }
    for (_, token) in tokens.sorted(by: { $0.key < $1.key }) { token?.dispose() }  // the oldest step first
    if body != nil { Counted.closures(-1) }  // for the diagnostic count
    let disposed = tokens.values.compactMap { $0 }
    _ = (consume tokens, consume body)  // released here, before this thread leaves `inside`
    let isAwaited = steps.withLock { steps in
      steps.disposed += disposed
      // the last entry: an earlier one is that of a step that this thread is inside
      return steps.removeThread(at: steps.inside.lastIndex { $0.thread == thread }!)
    }
    if isAwaited { threadLeft.signal() }  // wakes the threads in `disposeAndWait`
  }

  func disposeAndWait() {
    dispose()
    while let mark = markOfOthers() { threadLeft.wait(since: mark) }
    let thread = csched_swift_thread_number_()
    let disposed = steps.withLock { $0.inside.contains { $0.thread == thread } ? [] : $0.disposed }
    for token in disposed { token.disposeAndWait() }
  }

  /// Announces a wait, so that a thread that leaves wakes this thread. Returns the number of events of `threadLeft` so
  /// far. Returns nil, so that the caller does not wait, if no thread is inside, or if this thread is: it would wait
  /// for itself.
  private func markOfOthers() -> UInt32? {
    let thread = csched_swift_thread_number_()
    return steps.withLock {
      guard !$0.inside.isEmpty, $0.inside.allSatisfy({ $0.thread != thread }) else { return nil }
      $0.isAwaited = true
      return threadLeft.mark
    }
  }
}
