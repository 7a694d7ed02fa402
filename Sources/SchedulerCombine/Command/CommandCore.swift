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
      var isOver: Bool { isReleased && !isExecuting }  // no execution can start any more: the four publishers complete
    }

    /// The scheduler that starts the work and delivers all events.
    let place: CombineScheduler
    // Capacity 1: a new subscriber gets the current value. Capacity 0: it gets later values only.
    let isEnabled = ReplaySubject<Bool, Never>(capacity: 1)
    let isExecuting = ReplaySubject<Bool, Never>(capacity: 1)
    let values = ReplaySubject<Output, Never>(capacity: 0)
    let errors = ReplaySubject<Failure, Never>(capacity: 0)
    private let lock = UnfairLock()
    private var state: State

    init(_ place: CombineScheduler, _ allowsConcurrentExecution: Bool) {
      self.place = place
      state = State(allowsConcurrentExecution: allowsConcurrentExecution)
      isEnabled.send(true)
      isExecuting.send(false)
    }

    /// Counts a new execution if one may start, and returns whether it may.
    func begin() -> Bool {
      change { state in
        let mayBegin = state.isEnabled
        if mayBegin { state.executing += 1 }
        return mayBegin
      }
    }

    /// Changes the state by `body`, publishes `isExecuting` and `isEnabled` if they changed, and returns the result of `body`. Concurrent changes are
    /// published in their order.
    @discardableResult
    func change<Result>(_ body: (inout State) -> Result) -> Result {
      lock.lock()
      let old = state, result = body(&state), new = state
      // Under the lock, `line(up:)` appends the new value to the subscribers' queues, so that the values keep the order of the changes.
      let lines = [
        new.isExecuting == old.isExecuting ? nil : isExecuting.line(up: new.isExecuting),
        new.isEnabled == old.isEnabled ? nil : isEnabled.line(up: new.isEnabled),
      ]
      lock.unlock()
      for line in lines { line?.deliver() }  // calls the subscribers, without the lock
      if new.isOver, !old.isOver { end() }
      return result
    }

    /// Completes the four publishers.
    private func end() {
      isExecuting.send(completion: .finished)
      isEnabled.send(completion: .finished)
      values.send(completion: .finished)
      errors.send(completion: .finished)
    }
  }
#endif
