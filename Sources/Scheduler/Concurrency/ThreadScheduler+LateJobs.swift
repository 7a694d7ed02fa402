extension ThreadScheduler {
  /// What becomes of a task's job that comes to a ``ThreadScheduler`` when its thread has ended. An action is refused then; a task that was
  /// refused would never end.
  public enum LateJobPolicy: Hashable, Sendable {
    /// It runs on the pool, after the others that came late: one at a time, in order, isolated as before, but on another thread than values
    /// of ``ThreadScheduler/Confined``. Handlers of ``Schedulers/onLateJob(_:)`` are called.
    case runOnPool
    /// It stops the process with a message: for what must never be touched on another thread.
    case trap
  }
}

extension Schedulers {
  /// Has `handler` called for each job of a task that comes to a ``ThreadScheduler`` after its thread has ended, from now on, until what is
  /// returned is disposed. Such a job runs on another thread: see ``ThreadScheduler/LateJobPolicy``.
  ///
  /// ```swift
  /// let reports = Schedulers.onLateJob { scheduler in log("\(scheduler) has lost its thread, and has tasks") }
  /// ```
  ///
  /// - Parameter handler: is given the scheduler, before the job runs; on the thread that gives the job to it, or on its own thread at the end;
  ///   outside of all locks of ours.
  /// - Returns: what ends the reports. A call on another thread that has begun goes on.
  public static func onLateJob(_ handler: @escaping @Sendable (_ scheduler: ThreadScheduler) -> Void) -> any Disposable
  {
    let key = lateHandlers.withLock { handlers in
      handlers.last += 1
      handlers.all[handlers.last] = handler
      return handlers.last
    }
    return AnonymousDisposable {
      let handler = lateHandlers.withLock { $0.all.removeValue(forKey: key) }
      _ = consume handler  // outside of the lock
    }
  }

  static func tellOfLateJob(on scheduler: ThreadScheduler) {
    for (_, handler) in lateHandlers.read().all.sorted(by: { $0.key < $1.key }) { handler(scheduler) }
  }
}

private let lateHandlers = Protected((last: 0, all: [Int: @Sendable (ThreadScheduler) -> Void]()))
