#if Combine
  #if canImport(Combine)
    internal import Combine
  #else
    internal import OpenCombine
  #endif
  internal import Scheduler

  /// The state and subjects that a command and its executions share.
  final class CommandCore<Output, Failure: Error>: @unchecked Sendable {
    // Unchecked, because the lock guards the state, and each subject has its own lock.
    struct State {
      var allowsConcurrentExecution: Bool
      var isAllowed = true  // the most recent value of `enabledIf`
      var isReleased = false  // the `Command` object was released
      var executing = 0  // running executions

      var isEnabled: Bool { isAllowed && (executing == 0 || allowsConcurrentExecution) }
      var isExecuting: Bool { executing > 0 }
      var isOver: Bool { isReleased && !isExecuting }  // then the four publishers complete
    }

    /// The scheduler that starts the work and delivers all events.
    let scheduler: CombineScheduler
    // Capacity 1: a new subscriber gets the current value. Capacity 0: it gets later values only.
    let isEnabled = ReplaySubject<Bool, Never>(capacity: 1)
    let isExecuting = ReplaySubject<Bool, Never>(capacity: 1)
    let values = ReplaySubject<Output, Never>(capacity: 0)
    let errors = ReplaySubject<Failure, Never>(capacity: 0)
    private let lock = UnfairLock()
    private var state: State

    init(_ scheduler: CombineScheduler, _ allowsConcurrentExecution: Bool) {
      self.scheduler = scheduler
      state = State(allowsConcurrentExecution: allowsConcurrentExecution)
      isEnabled.send(true)  // the current values for the first subscribers
      isExecuting.send(false)
    }

    /// Counts a new execution if one may start, and returns whether it may. One step, so that two calls at the same
    /// time cannot both be the first.
    func begin() -> Bool {
      change { state in
        let mayBegin = state.isEnabled
        if mayBegin { state.executing += 1 }
        return mayBegin
      }
    }

    /// Changes the state by `body`, and returns the result of `body`. Publishes `isExecuting` and `isEnabled` if they
    /// changed, in the order of the changes. Completes the publishers when the command is released and no execution
    /// runs.
    @discardableResult
    func change<Result>(_ body: (inout State) -> Result) -> Result {
      lock.lock()
      let old = state, result = body(&state), new = state
      // `line(up:)` appends the value to the subscribers' queues, but calls no subscriber. Under the lock, so that
      // values keep the order of changes.
      let lines = [
        new.isExecuting == old.isExecuting ? nil : isExecuting.line(up: new.isExecuting),
        new.isEnabled == old.isEnabled ? nil : isEnabled.line(up: new.isEnabled),
      ]
      lock.unlock()
      for line in lines { line?.deliver() }  // calls the subscribers, without the lock
      if new.isOver, !old.isOver { completePublishers() }  // without the lock: calls the subscribers
      return result
    }

    private func completePublishers() {
      isExecuting.send(completion: .finished)
      isEnabled.send(completion: .finished)
      values.send(completion: .finished)
      errors.send(completion: .finished)
    }
  }
#endif
