#if Combine
  #if canImport(Combine)
    internal import Combine
  #else
    internal import OpenCombine
  #endif
  internal import Scheduler

  /// An action that a stage submits again and again: one at a time, also on a scheduler that runs actions side by side, and with a constant
  /// stack, also on one that runs them at once.
  final class Activation: @unchecked Sendable {
    // Unchecked, because its state is guarded by the lock.
    typealias Step = @Sendable (_ reached: CombineScheduler.SchedulerTimeType) -> Void

    private struct State {
      var isArmed = false
      var isRunning = false
      /// What came to run while another one did.
      var next: (step: Step, due: CombineScheduler.SchedulerTimeType?)?
    }

    private let place: CombineScheduler
    private let options: CombineScheduler.SchedulerOptions?
    private let lock = UnfairLock()
    private var state = State()
    private let token = SerialDisposable()

    init(_ place: CombineScheduler, _ options: CombineScheduler.SchedulerOptions?) {
      self.place = place
      self.options = options
    }

    /// Whether a step waits to begin: it will see what was before this look.
    var isArmed: Bool {
      lock.lock()
      defer { lock.unlock() }
      return state.isArmed
    }

    /// Submits `step`, for `due` or at once, unless one waits already. It is told which instant has been reached.
    func arm(
      at due: CombineScheduler.SchedulerTimeType? = nil, tolerance: CombineScheduler.SchedulerTimeType.Stride = .zero,
      _ step: @escaping Step
    ) {
      lock.lock()
      let wasArmed = state.isArmed
      state.isArmed = true
      lock.unlock()
      guard !wasArmed, !token.isDisposed else { return }
      token.replace {
        guard let due else { return place.submit(options) { [self] in enter(step, nil) } }
        return place.submit(at: due, tolerance: tolerance, options) { [self] in enter(step, due) }
      }
    }

    /// Cancels what waits; what is armed from now on is not concerned, whoever does so.
    func disarm() {
      token.replace { () -> (any Disposable)? in
        lock.lock()
        state.isArmed = false
        lock.unlock()
        return nil
      }
    }

    private func enter(_ step: @escaping Step, _ due: CombineScheduler.SchedulerTimeType?) {
      lock.lock()
      state.isArmed = false
      guard !state.isRunning else {
        state.next = (step, due)
        return lock.unlock()
      }
      state.isRunning = true
      lock.unlock()
      var next: (step: Step, due: CombineScheduler.SchedulerTimeType?)? = (step, due)
      while let present = next {
        // Time may stand still where actions run at once.
        let now = place.now
        present.step(present.due.map { max($0, now) } ?? now)
        lock.lock()
        next = state.next.take()
        state.isRunning = next != nil
        lock.unlock()
      }
    }

    /// Cancels what waits; nothing is submitted from now on.
    func dispose() { token.dispose() }
  }
#endif
