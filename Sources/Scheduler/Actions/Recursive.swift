internal import CScheduler

extension ImmediateSchedulerType {
  /// Schedules `action`, which can schedule itself again with a new state, any number of times, at once or later, on any thread.
  ///
  /// Stack and memory stay constant for any number of steps: each step is an action of its own, and other work runs in between. If the
  /// scheduler would run a step inside the step that asks for it, the new step waits until that one has ended. Disposing ends the
  /// recursion: no step starts after that.
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
    recursion.schedule(step(state, of: RecursionLife(recursion)))
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

/// The action of a recursion, apart from `Recursion`, so that `Recursion` is not generic. The caller's module cannot specialise code that is
/// generic over the state, and the runtime would look it up again in each step (1 µs of 1.4).
private final class RecursiveBody<State: Sendable>: Sendable {
  let action: @Sendable (State, @escaping @Sendable (State) -> Void) -> Void
  init(_ action: @escaping @Sendable (State, @escaping @Sendable (State) -> Void) -> Void) { self.action = action }
}

/// A step with its state, which is called with the recursion's body.
private func step<State: Sendable>(_ state: State, of life: RecursionLife) -> Recursion.Step {
  { body in
    unsafeDowncast(body, to: RecursiveBody<State>.self).action(state) { life.recursion.schedule(step($0, of: life)) }
  }
}

/// Held by each step and by each closure that can ask for another one. Its release ends the recursion.
private final class RecursionLife: Sendable {
  let recursion: Recursion
  init(_ recursion: Recursion) { self.recursion = recursion }
  deinit { recursion.dispose() }
}

/// A scheduled step. Only the scheduler's closure holds it, so a drop ends it without a call.
private final class ScheduledStep: Sendable {
  private let recursion: Recursion
  private let number: UInt64
  // Taken once by the thread that starts the step, and by deinit.
  // An array, so that the recursion can take from it: a captured closure that is consumed is released too often (Swift 6.3).
  nonisolated(unsafe) private var step: [Recursion.Step]

  init(_ step: @escaping Recursion.Step, number: UInt64, of recursion: Recursion) {
    (self.step, self.number, self.recursion) = ([step], number, recursion)
  }

  deinit { if !step.isEmpty { recursion.forget(number) } }

  func begin() {
    guard recursion.forget(number) else { return }
    var due: [Recursion.Step] = []
    swap(&due, &step)
    recursion.take(&due)
  }
}

/// A recursive action and its steps that are scheduled and have not started.
private final class Recursion: Disposable {
  private let counted = CountedDisposable()
  typealias Body = AnyObject & Sendable
  typealias Step = @Sendable (any Body) -> Void

  /// A thread inside a step, with the steps it has asked for that would have run nested; or a thread that disposes.
  private struct Inside {
    let thread: UInt
    var next: [Step] = []
  }

  private struct Steps {
    /// The disposable of each pending step, by number; `nil` until `schedule` has returned it.
    var pending: [UInt64: (any Disposable)?] = [:]
    var last: UInt64 = 0
    var inside: [Inside] = []
    var isDisposed = false
    var isAwaited = false
    var body: (any Body)?

    /// Removes a thread. Returns whether another thread waits for that.
    mutating func leave(at index: Int) -> Bool {
      inside.remove(at: index)
      defer { isAwaited = false }
      return isAwaited
    }
  }

  private let scheduler: (any ImmediateSchedulerType)?
  /// Used in place of `scheduler` if the pending step must not retain it.
  /// Changed only by the runtime, when the scheduler ends.
  nonisolated(unsafe) private weak var lent: (any EndsByItself)?
  /// On the immediate scheduler a nested step is known without submitting it.
  private let isImmediate: Bool
  private let steps: Protected<Steps>
  private let ends = Occurrence()

  init(scheduler: any ImmediateSchedulerType, body: any Body) {
    lent = scheduler as? any EndsByItself
    self.scheduler = lent == nil ? scheduler : nil
    isImmediate = scheduler is ImmediateScheduler
    steps = Protected(Steps(body: body))
    Counted.closures(1)
  }

  func schedule(_ step: @escaping Step) {
    let thread = csched_swift_thread_()
    let number: UInt64? = steps.withLock {
      guard !$0.isDisposed else { return nil }
      if isImmediate, let here = $0.inside.firstIndex(where: { $0.thread == thread }) {
        $0.inside[here].next.append(step)
        return nil
      }
      $0.last += 1
      $0.pending[$0.last] = .some(nil)
      return $0.last
    }
    guard let number else { return }
    let token = submit(step, number)
    let isLate = steps.withLock {
      if $0.pending[number] != nil { $0.pending[number] = token }
      return $0.isDisposed
    }
    if isLate { token.dispose() }
  }

  private func submit(_ step: @escaping Step, _ number: UInt64) -> any Disposable {
    let scheduled = ScheduledStep(step, number: number, of: self)
    return (scheduler ?? lent)?.schedule { scheduled.begin() } ?? NopDisposable()
  }

  /// Removes the step with that number from the pending steps. Returns whether it was there.
  @discardableResult
  fileprivate func forget(_ number: UInt64) -> Bool {
    steps.withLock({ $0.pending.removeValue(forKey: number) }) != nil  // its disposable is released outside the lock
  }

  /// Runs the steps in `due`, then those that would have run nested. Only `due` holds them: their captures are released inside the step.
  fileprivate func take(_ due: inout [Step]) {
    let thread = csched_swift_thread_()
    let isOutermost = steps.withLock {
      if let here = $0.inside.firstIndex(where: { $0.thread == thread }) {
        $0.inside[here].next += due
        return false
      }
      $0.inside.append(Inside(thread: thread))
      return true
    }
    guard isOutermost else { return }
    while !due.isEmpty {
      for step in due {
        guard let body = steps.withLock({ $0.body }) else { break }  // disposed
        step(body)
      }
      due.removeAll(keepingCapacity: true)
      let isAwaited = steps.withLock {
        let here = $0.inside.firstIndex { $0.thread == thread }!
        swap(&due, &$0.inside[here].next)
        return due.isEmpty && $0.leave(at: here)
      }
      if isAwaited { ends.happen() }
    }
  }

  var isDisposed: Bool { steps.withLock { $0.isDisposed } }

  func dispose() {
    let thread = csched_swift_thread_()
    let (tokens, body) = steps.withLock {
      $0.isDisposed = true
      $0.inside.append(Inside(thread: thread))
      let pending = $0.pending
      $0.pending = [:]
      return (pending, $0.body.take())
    }
    for (_, token) in tokens.sorted(by: { $0.key < $1.key }) { token?.dispose() }
    if body != nil { Counted.closures(-1) }
    _ = (consume tokens, consume body)
    let isAwaited = steps.withLock { steps in
      steps.leave(at: steps.inside.lastIndex { $0.thread == thread }!)
    }
    if isAwaited { ends.happen() }
  }

  func disposeAndWait() {
    dispose()
    while let mark = markOfOthers() { ends.wait(since: mark) }
  }

  /// Returns a mark to wait from, if other threads are inside and this one is not.
  private func markOfOthers() -> UInt32? {
    let thread = csched_swift_thread_()
    return steps.withLock {
      guard !$0.inside.isEmpty, $0.inside.allSatisfy({ $0.thread != thread }) else { return nil }
      $0.isAwaited = true
      return ends.mark
    }
  }
}
