internal import CScheduler

extension AsyncSequence where Self: Sendable, Element: Sendable {
  /// Returns a blocking observable of this sequence, for synchronous code.
  ///
  /// Each wait iterates the sequence in a task, which is cancelled when the wait ends. The task runs on threads of the
  /// library's own, not on those of Swift's own executor. So a wait on a thread of Swift's executor does not block its
  /// own task.
  ///
  /// - Parameters:
  ///   - timeout: how long each wait may take: see ``BlockingObservable``.
  ///   - scheduler: the scheduler that the sequence needs in order to end, if you know it. A wait that would block that
  ///     queue fails at once with ``SchedulerError/deadlock``. Without it such a wait ends only by the timeout.
  public func toBlocking(timeout: Duration? = nil, needing scheduler: SchedulerTarget? = nil)
    -> BlockingObservable<Element>
  {
    BlockingObservable(timeout: timeout, needed: scheduler) { sink in
      inBlockingTask {  // the task's disposable is the subscription
        do {
          for try await element in self where !sink.next(element) { return }  // false: no more elements are wanted
          sink.end(nil)
        } catch {
          sink.end(error)
        }
      }
    }
  }
}

/// Calls an async function from synchronous code, waits for it as ``RunLoopLock`` does, and returns its value or throws
/// its error.
///
/// ```swift
/// let page = try runAndWait(timeout: .seconds(5)) { await download(url) }
/// ```
///
/// The function runs in a task on threads of the library's own, and so do actors without their own executor that it
/// calls. So you may wait on any thread, also on threads of Swift's own executor and of the pool. The task is cancelled
/// at the timeout.
///
/// Two kinds of deadlock throw ``SchedulerError/deadlock`` at once: an operation of the main actor, called on the main
/// thread; and an operation that needs a serial queue, called in an action of that queue, if `scheduler` names the
/// queue. Other deadlocks are not detected, and end only by the timeout. Examples: an operation that calls the main
/// actor later, or an actor whose method waits here; and an operation that starts an unstructured task while all
/// threads of Swift's own executor are blocked.
///
/// - Parameters:
///   - timeout: how long to wait; `nil` waits without limit. With zero or less it throws ``SchedulerError/timeout`` at
///     once.
///   - scheduler: the scheduler that the operation needs in order to end, if you know it.
///   - operation: the async function to call.
@available(*, noasync, message: "it blocks a thread of Swift's own: await the function itself")
public func runAndWait<Value: Sendable>(
  timeout: Duration? = nil, needing scheduler: SchedulerTarget? = nil,
  _ operation: @escaping @Sendable @isolated(any) () async throws -> Value
) throws -> Value {
  // the main actor runs on this thread, which would block it
  if csched_is_main_thread(), operation.isolation === MainActor.shared { throw SchedulerError.deadlock }
  let source = BlockingObservable<Value>(timeout: timeout, needed: scheduler) { sink in
    inBlockingTask {
      do { sink.next(try await operation()) } catch { sink.end(error) }
    }
  }
  return try source.first()!  // not nil: the source never completes without an element
}

/// Starts a task on threads of the library's own. Returns a disposable that cancels it.
private func inBlockingTask(_ body: @escaping @Sendable () async -> Void) -> any Disposable {
  Task(executorPreference: PoolTaskExecutor.shared) { await body() }.asDisposable
}

/// Runs tasks on a pool of the library's own, which replaces blocked threads. Not on the shared pool: all its threads
/// may wait for such tasks.
private final class PoolTaskExecutor: TaskExecutor {
  static let shared = PoolTaskExecutor()

  func enqueue(_ job: consuming ExecutorJob) {
    let priority = SchedulerPriority(TaskPriority(job.priority) ?? .medium)
    let job = UnownedJob(job)
    // A pool that is being shut down refuses the job. It is not the present pool any more, so the next attempt submits
    // to a new one. `callerReportsRefusal`: a refusal is not reported to the user, because the loop handles it.
    while !(PoolCore.waiting(priority) ?? PoolCore.shared(priority)).submit(
      { job.runSynchronously(on: PoolTaskExecutor.shared.asUnownedTaskExecutor()) }, callerReportsRefusal: true
    ).isAccepted {}
  }
}
