extension LoopScheduler {
  /// Calls `body` as an action of the scheduler, on its thread and in order with its other actions. Waits until `body`
  /// has returned, and returns its result or throws its error.
  ///
  /// ```swift
  /// let count = database.sync { connection.count }
  /// ```
  ///
  /// This function stops the process with a message if it is called on the scheduler's own thread, where the wait could
  /// never end, or on a stopped scheduler. There ``trySync(_:)`` throws. Actions of ``MainScheduler`` run only if the
  /// main thread runs them.
  ///
  /// - Parameter body: called once, on the scheduler's thread.
  @available(*, noasync, message: "it blocks a thread of Swift's own: use await perform")
  public func sync<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
    var result: Result<Value, Failure>?
    let refusal = call {
      do throws(Failure) { result = .success(try body()) } catch { result = .failure(error) }
    }
    switch refusal {
    case nil: return try result!.get()  // nil: `body` was called
    case SchedulerError.deadlock?:
      misuse(
        "sync", of: core.name,
        "called on the scheduler's own thread, which it would wait for. Call the closure directly, or schedule it.")
    default:
      misuse("sync", of: core.name, "the scheduler has been stopped, so it accepts no more work. Use trySync.")
    }
  }

  /// Calls `body` as ``sync(_:)`` does, but throws if it cannot be called: ``SchedulerError/deadlock`` on the
  /// scheduler's own thread, and ``SchedulerError/stopped`` if the scheduler has been stopped, or drops the action.
  ///
  /// - Parameter body: called once, on the scheduler's thread. Not called if this function throws an error of its own.
  @available(*, noasync, message: "it blocks a thread of Swift's own: use await perform")
  public func trySync<Value>(_ body: () throws -> Value) throws -> Value {
    var result: Result<Value, any Error>?
    let refusal = call { result = Result { try body() } }
    if let refusal { throw refusal }
    return try result!.get()
  }

  /// Calls `body` as an action, and waits until it has returned. Returns nil, or the reason why `body` was not called.
  private func call(_ body: () -> Void) -> SchedulerError? {
    // the caller is on the scheduler's thread, so the wait would never end
    if core.isCallerIsolated { return .deadlock }
    // Uses a queue with one action, because `sync` of a queue detects threads and queues that wait for each other.
    let queue = SerialCore(name: core.name, on: core)
    queue.publish(self)  // so that `Schedulers.current` in `body` is this scheduler
    // `body` does not throw, so each error is one of `trySync`.
    do { try SerialScheduler(core: queue).trySync(body) } catch { return error as? SchedulerError ?? .stopped }
    return nil
  }
}
