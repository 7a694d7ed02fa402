internal import CScheduler
internal import CSchedulerVirtualTime
internal import Dispatch
internal import Scheduler

/// Runs `body` and all tasks created in it in virtual time: one job at a time, in a repeatable order, and sleeps take
/// no real time.
///
/// ```swift
/// let text = try await withVirtualTime { time in
///   let reminder = Task {
///     try await time.clock.sleep(for: .seconds(3_600))
///     return "an hour later"
///   }
///   await time.advance(by: .seconds(3_599))  // nothing yet
///   await time.advance(by: .seconds(1))  // the task ends
///   return try await reminder.value
/// }
/// ```
///
/// 1. *Scope*: the body and every task created in it: child tasks, `Task`, `Task.detached`, tasks on the main actor;
///    the actors that they call; and actions on ``VirtualTime/scheduler``, and on each `ConcurrentScheduler` and
///    `SerialScheduler` that is created in the body without a target of its own. Other tasks of the process still run
///    in real time. Tests that run in parallel have independent virtual times. If the body is the first to use a global
///    scheduler, that scheduler refuses work after the body: create it before.
/// 2. *Time* moves when no job can run, to the next instant that a job, sleep or action waits for.
///    ``VirtualTime/clock`` shows this time, and `Task.sleep` on Swift's own clocks waits for it, too; so do
///    `withTimeout`, `withDeadline` and each `deadline:`. The `now` of Swift's clocks stays real. Swift passes a sleep
///    on as an instant of real time, so its duration is estimated: a round one that fits, also after long work. So is
///    that of a deadline by a clock of Swift's. `withTimeout` and a `Deadline` are exact. For other exact durations,
///    and for `now`, use ``VirtualTime/clock``.
/// 3. *Order*: jobs run in the order of their arrival. With a `seed` the order is random, and the same seed gives the
///    same order. See ``explore(seeds:from:limits:isolation:file:line:_:)``.
/// 4. *Threads*: each virtual time has one driving thread, which runs the jobs. Jobs of the main actor run on the main
///    thread, which must be free; the driving thread waits meanwhile.
/// 5. *Escapes*: actors with their own executor, Dispatch callbacks and the like run on other threads, at any speed.
///    When they resume a task of the body, its next job runs in virtual time. Such jobs are counted in
///    ``VirtualTime/escapes``, and reported at the end on standard error.
/// 6. *End*: virtual time ends with the body. Its tasks then run as far as they can without time; sleeps on the clock
///    throw `CancellationError`. Unfinished tasks continue on Swift's own executors, where `Task.sleep` waits for its
///    remaining time in real time. Waiting actions are dropped, and schedulers of this virtual time refuse further
///    actions.
/// 7. *A body that is endless or stalled* (see ``VirtualTime/Limits``) is cancelled. If it still does not end, it is
///    abandoned: its task continues on Swift's own executors, or stays suspended for ever.
///
/// - Parameters:
///   - seed: the seed of the random order; nil for the order of arrival.
///   - limits: when the body counts as endless or stalled.
///   - isolation: the caller's isolation, which the body shares.
///   - file: the caller's file, for messages.
///   - line: the caller's line, for messages.
///   - body: the closure to run. It receives the virtual time.
/// - Returns: the result of the body.
/// - Throws: the error of the body, or ``VirtualTimeError``.
public func withVirtualTime<Result>(
  seed: UInt64? = nil, limits: VirtualTime.Limits = .init(), isolation: isolated (any Actor)? = #isolation,
  file: StaticString = #fileID,
  line: Int = #line, _ body: @escaping (VirtualTime) async throws -> Result
) async throws -> Result {
  let body = Unchecked(body)
  return try await run(seed, limits, "\(file):\(line)", body).value.get()
}

/// Runs a body that does not throw, as the function that takes a throwing body. A ``VirtualTimeError`` stops the
/// process with a message.
public func withVirtualTime<Result>(
  seed: UInt64? = nil, limits: VirtualTime.Limits = .init(), isolation: isolated (any Actor)? = #isolation,
  file: StaticString = #fileID,
  line: Int = #line, _ body: @escaping (VirtualTime) async -> Result
) async -> Result {
  let body = Unchecked<(VirtualTime) async throws -> Result>(body)
  do { return try await run(seed, limits, "\(file):\(line)", body).value.get() } catch {
    misuse("withVirtualTime", "\(file):\(line)\(seed.map { ", seed \($0)" } ?? ""): \(error)")
  }
}

/// Passes a value that is not Sendable between the caller and the body's task. Unchecked, because the caller waits
/// while that task uses the value.
private struct Unchecked<Value>: @unchecked Sendable {
  let value: Value
  init(_ value: Value) { self.value = value }
}

/// Creates a scope and a driving thread, runs `body` there, and returns its outcome. `caller`: file and line, for
/// messages. Not isolated, so that the caller's actor stays free: the body runs on it.
private nonisolated func run<Value>(
  _ seed: UInt64?, _ limits: VirtualTime.Limits, _ caller: String,
  _ body: Unchecked<(VirtualTime) async throws -> Value>
) async throws(VirtualTimeError) -> Unchecked<Result<Value, any Error>> {
  guard VirtualExecutors.areAvailable else { throw .unavailable }
  if VirtualScope.current != nil { throw .nested }
  VirtualExecutors.install()
  let scope = VirtualScope(seed: seed, limits: limits), outcome = Protected<Unchecked<Result<Value, any Error>>?>(nil)
  let thread: DrivingThread
  do { thread = try DrivingThread() } catch { throw .noThread(error) }  // before `begin`: no task to end yet
  let task = scope.begin {
    do {
      let value = try await body.value(VirtualTime(scope: scope))
      outcome.write(Unchecked(.success(value)))
    } catch { outcome.write(Unchecked(.failure(error))) }
  }
  // why the body could not end; nil means that it has ended, and `outcome` is set
  let failure = await withTaskCancellationHandler {
    await withCheckedContinuation { continuation in
      thread.run { continuation.resume(returning: scope.drive(task)) }
    }
  } onCancel: {
    scope.cancel()
  }
  thread.join()  // a short wait: `drive` has returned
  let escapes = scope.state.read(\.escapes)
  if escapes > 0 {
    warn(
      """
      \(caller): \(escapes) jobs were brought by other threads; when those come is left to chance. Give what has a thread of its own a stand-in for the test.
      """)
  }
  if let failure { throw failure }
  return outcome.read()!
}

/// Prints `advice` as one line on standard error.
func warn(_ advice: String) { csched_testing_warn_("Scheduler: withVirtualTime: \(advice)\n") }

/// A thread that makes one call, and belongs to no scheduler.
///
/// Rejected: a scheduler's thread. There, a cancelled sleep resumes its task on a thread of the pool, because the
/// task's cancellation handler may wait for the scheduler. The job of that task would reach virtual time from another
/// thread, and count as an escape.
final class DrivingThread: @unchecked Sendable {
  // Unchecked: `init` writes `thread`, and only the caller of `join` reads it.
  private var thread: UInt = 0  // the handle for `csched_testing_join_`
  private let call = Protected<(@Sendable () -> Void)?>(nil)
  private let callIsSet = DispatchSemaphore(value: 0)  // `run` signals it; the new thread waits for it

  /// Starts the thread, which waits for ``run(_:)``. So ``run(_:)`` must be called: otherwise neither the thread nor
  /// this object is ever released.
  init() throws(SchedulerError) {
    let own = Unmanaged.passRetained(self)  // the thread's reference, which the closure below releases
    let error = csched_testing_start_(
      &thread,
      { context in
        csched_swift_begin_with_main_mask_()
        let own = Unmanaged<DrivingThread>.fromOpaque(context!).takeRetainedValue()
        own.callIsSet.wait()
        own.call.exchange(nil)?()
      }, own.toOpaque())
    if error == 0 { return }
    own.release()  // no thread runs the closure that would release it
    throw .system(error)
  }

  /// Makes the thread call `call`, and then end. Call this once.
  func run(_ call: @escaping @Sendable () -> Void) {
    self.call.write(call)
    callIsSet.signal()
  }

  /// Waits until the thread has ended, which is soon after `call` has returned. Call it once, after ``run(_:)``.
  func join() { csched_testing_join_(thread) }
}
