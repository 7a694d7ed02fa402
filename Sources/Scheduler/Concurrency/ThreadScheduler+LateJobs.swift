extension ThreadScheduler {
  /// What happens to a task's job that is submitted to a ``ThreadScheduler`` after its thread has ended.
  ///
  /// The scheduler refuses actions then. It cannot refuse a job, because the job's task would never end.
  public enum LateJobPolicy: Hashable, Sendable {
    /// The job runs on the pool, after earlier late jobs: one at a time, in order, and isolated as on the thread. It
    /// does not run on the thread of ``ThreadScheduler/Confined`` values. Handlers of ``Schedulers/onLateJob(_:)`` are
    /// called.
    case runOnPool
    /// The job stops the process with a message. Use it for state that must never be accessed on another thread.
    case trap
  }
}

extension Schedulers {
  /// Calls `handler` for each task's job that is submitted to a ``ThreadScheduler`` after its thread has ended, until
  /// the result is disposed.
  ///
  /// Such a job runs on another thread: see ``ThreadScheduler/LateJobPolicy``.
  ///
  /// ```swift
  /// let reports = Schedulers.onLateJob { scheduler in log("\(scheduler) has lost its thread, and has tasks") }
  /// ```
  ///
  /// - Parameter handler: called with the scheduler, before the job runs, on the thread that submits the job, or on the
  ///   scheduler's own thread at its end. No lock of this library is held.
  /// - Returns: a disposable that ends the reports. A call that has started on another thread continues.
  public static func onLateJob(_ handler: @escaping @Sendable (_ scheduler: ThreadScheduler) -> Void) -> any Disposable
  {
    let key = lateHandlers.withLock { handlers in
      handlers.lastKey += 1
      handlers.all[handlers.lastKey] = handler
      return handlers.lastKey
    }
    return AnonymousDisposable {
      let handler = lateHandlers.withLock { $0.all.removeValue(forKey: key) }
      _ = consume handler  // released outside the lock, because the release may run user code
    }
  }

  /// Called before each late job of `scheduler`. Calls the handlers with `scheduler`, in the order in which they were
  /// added.
  static func reportLateJob(on scheduler: ThreadScheduler) {
    for (_, handler) in lateHandlers.read().all.sorted(by: { $0.key < $1.key }) { handler(scheduler) }
  }
}

/// The handlers of late jobs, by key. Keys increase in the order of addition; `lastKey` is the most recent one.
private let lateHandlers = Protected((lastKey: 0, all: [Int: @Sendable (ThreadScheduler) -> Void]())).heldInForks()
