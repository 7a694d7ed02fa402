internal import CScheduler

extension AsyncSequence where Self: Sendable, Element: Sendable {
  /// Returns this sequence as one to wait for, from synchronous code.
  ///
  /// Each wait iterates it in a task, which is cancelled when the wait ends. The task runs on the pool's threads, not on those of Swift's
  /// own executor, so that a wait on one of those does not keep its own task from running.
  ///
  /// - Parameters:
  ///   - timeout: how long each wait may take: see ``BlockingObservable``.
  ///   - scheduler: what the sequence needs in order to end, if you know it. A wait that would keep that very queue from going on then
  ///     fails at once with ``SchedulerError/deadlock``. Without it such a wait ends by the timeout only.
  public func toBlocking(timeout: Duration? = nil, needing scheduler: SchedulerTarget? = nil)
    -> BlockingObservable<Element>
  {
    BlockingObservable(timeout: timeout, needed: scheduler) { sink in
      inBlockingTask {
        do {
          for try await element in self where !sink.next(element) { return }
          sink.end(nil)
        } catch {
          sink.end(error)
        }
      }
    }
  }
}

/// Calls an async function from synchronous code, waits for it as ``RunLoopLock`` does, and returns its value or throws its error.
///
/// ```swift
/// let page = try runAndWait(timeout: .seconds(5)) { await download(url) }
/// ```
///
/// It runs in a task on the pool's threads, as do actors that have no executor of their own; so the wait may be on any thread, those of
/// Swift's own executor and of the pool included. The task is cancelled when the time is over.
///
/// What could only deadlock is refused with ``SchedulerError/deadlock``: an operation of the main actor, on the main thread; one that
/// needs a serial queue, in an action of that queue, if `scheduler` says so. What cannot be seen, and ends by the timeout only: an
/// operation that goes to the main actor later, or to an actor whose method is waiting here; and one that starts an unstructured task
/// while all threads of Swift's own executor are blocked.
///
/// - Parameters:
///   - timeout: how long to wait; `nil` is for ever. With zero and less it throws ``SchedulerError/timeout`` at once.
///   - scheduler: what the operation needs in order to end, if you know it.
///   - operation: the async function to call.
@available(*, noasync, message: "it blocks a thread of Swift's own: await the function itself")
public func runAndWait<Value: Sendable>(
  timeout: Duration? = nil, needing scheduler: SchedulerTarget? = nil,
  _ operation: @escaping @Sendable @isolated(any) () async throws -> Value
) throws -> Value {
  if csched_is_main_thread(), operation.isolation === MainActor.shared { throw SchedulerError.deadlock }
  let source = BlockingObservable<Value>(timeout: timeout, needed: scheduler) { sink in
    inBlockingTask {
      do { sink.next(try await operation()) } catch { sink.end(error) }
    }
  }
  return try source.first()!  // it never completes without one
}

/// Starts a task on the pool's threads. Returns what cancels it.
private func inBlockingTask(_ body: @escaping @Sendable () async -> Void) -> any Disposable {
  Task(executorPreference: PoolTaskExecutor.shared) { await body() }.asDisposable
}

/// Runs tasks on the pool that everybody shares: when its threads block, others take their place.
private final class PoolTaskExecutor: TaskExecutor {
  static let shared = PoolTaskExecutor()

  func enqueue(_ job: consuming ExecutorJob) {
    let priority = SchedulerPriority(TaskPriority(job.priority) ?? .medium)
    let job = UnownedJob(job)
    // A pool that is being shut down refuses, and is not the shared one any more.
    while !PoolCore.shared(priority).submit(
      { job.runSynchronously(on: PoolTaskExecutor.shared.asUnownedTaskExecutor()) }, isTold: true
    ).isAccepted {}
  }
}
