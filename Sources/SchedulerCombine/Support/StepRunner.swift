#if Combine
  #if canImport(Combine)
    internal import Combine
  #else
    internal import OpenCombine
  #endif
  internal import Scheduler

  /// Runs the steps of a stage on a scheduler. At most one step waits to start, and one runs at a time, even on a
  /// concurrent scheduler. A step may submit the next one: the stack does not grow, even on a scheduler that runs
  /// actions at once.
  final class StepRunner: @unchecked Sendable {
    // Unchecked, because the lock guards the state.
    typealias Step = @Sendable (_ reached: CombineScheduler.SchedulerTimeType) -> Void

    private struct State {
      var isArmed = false  // a step is submitted, and has not started
      var isRunning = false
      /// A step that became due while another one ran. The thread of the running step runs it.
      var next: (step: Step, due: CombineScheduler.SchedulerTimeType?)?
    }

    private let scheduler: CombineScheduler  // runs the steps
    private let options: CombineScheduler.SchedulerOptions?
    private let lock = UnfairLock()
    private var state = State()
    private let token = SerialDisposable()  // cancels the submitted step

    init(_ scheduler: CombineScheduler, _ options: CombineScheduler.SchedulerOptions?) {
      self.scheduler = scheduler
      self.options = options
    }

    /// The scheduler's time.
    var now: CombineScheduler.SchedulerTimeType { scheduler.now }

    /// Whether a step is waiting to start. If so, the caller need not submit another one: the waiting step sees all
    /// writes made before this check.
    var isArmed: Bool {
      lock.lock()
      defer { lock.unlock() }
      return state.isArmed
    }

    /// Submits `step`, for `due` or at once. Does nothing if a step is waiting already. The step receives the present
    /// time, never before `due`.
    func arm(
      at due: CombineScheduler.SchedulerTimeType? = nil, tolerance: CombineScheduler.SchedulerTimeType.Stride = .zero,
      _ step: @escaping Step
    ) {
      lock.lock()
      let wasArmed = state.isArmed
      state.isArmed = true
      lock.unlock()
      guard !wasArmed, !token.isDisposed else { return }  // disposed: `dispose` was called
      token.replace {  // if the step runs inside `submit` and arms a newer step, `token` keeps the newer one
        guard let due else { return scheduler.submit(options) { [self] in runSteps(step, nil) } }
        return scheduler.submit(at: due, tolerance: tolerance, options) { [self] in runSteps(step, due) }
      }
    }

    /// Cancels the waiting step. Steps armed after this call, on any thread, are not affected.
    func disarm() {
      token.replace { () -> (any Disposable)? in  // nil: only disposes the old step's disposable
        lock.lock()
        state.isArmed = false  // inside `replace`: so `token` keeps a step that is armed from now on
        lock.unlock()
        return nil
      }
    }

    /// Runs `step`, and then each step that became due meanwhile. If a step is running already, only stores `step` in
    /// `state.next`.
    private func runSteps(_ step: @escaping Step, _ due: CombineScheduler.SchedulerTimeType?) {
      lock.lock()
      state.isArmed = false
      guard !state.isRunning else {  // another thread runs a step, or this thread does, further out on its stack
        state.next = (step, due)  // may replace an older step, whose work this newer one does too
        return lock.unlock()
      }
      state.isRunning = true
      lock.unlock()
      var next: (step: Step, due: CombineScheduler.SchedulerTimeType?)? = (step, due)
      while let present = next {
        let now = scheduler.now
        present.step(present.due.map { max($0, now) } ?? now)  // max: the scheduler may run it before `due`
        lock.lock()
        next = state.next.take()
        state.isRunning = next != nil
        lock.unlock()
      }
    }

    /// Cancels the waiting step, and prevents further submissions.
    func dispose() { token.dispose() }
  }
#endif
