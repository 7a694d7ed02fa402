internal import CSchedulerVirtualTime
internal import Scheduler

/// Runs `body` and all tasks that come of it in virtual time: one job at a time, the same way each time, and no sleep takes real time.
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
/// 1. *What is in it*: the body, and every task that is made in it: children, `Task`, `Task.detached`, those of the main actor; the actors that
///    they call, and what is scheduled on ``VirtualTime/scheduler``. Other tasks of the process go on as ever, in real time: several
///    virtual times, of tests that run in parallel, do not know of each other.
/// 2. *Time* moves when nothing can run, to the next instant that something waits for. It is what ``VirtualTime/clock`` shows. `Task.sleep` by Swift's own clocks
///    waits for it, too. Those clocks' `now` stays real, and a sleep names an instant of theirs: it is taken for the roundest duration that may be meant. For
///    exact ones, and for `now`, use the time's clock.
/// 3. *Order*: jobs run in the order in which they come; with a `seed`, in one that is drawn from it, the same for the same seed. See
///    ``explore(seeds:from:limits:isolation:file:line:_:)``.
/// 4. *Threads*: one of its own; jobs of the main actor run where that is, which must be free for them, and the other thread waits meanwhile.
/// 5. *What escapes*: actors with an executor of their own, callbacks of Dispatch and the like run elsewhere, at any speed. What they resume comes back into
///    virtual time, is counted by ``VirtualTime/escapes``, and reported at the end, by a line on the standard error.
/// 6. *The end* is the body's. What its tasks can then still do without time is done; those asleep on the clock get `CancellationError`. What is left
///    goes on by Swift's own executors, where a `Task.sleep` waits for its rest in real time.
/// 7. *A body without an end* is left: it is cancelled, and if that does not help, its task stays suspended for ever.
///
/// - Parameters:
///   - seed: what the order is drawn from; nil for the order in which jobs come.
///   - limits: when the body is taken for one without an end.
///   - isolation: the caller's, which the body has, too.
///   - file: who calls, for messages.
///   - line: who calls, for messages.
///   - body: what to run. It is given the time.
/// - Returns: what the body returns.
/// - Throws: what the body throws, or ``VirtualTimeError``.
public func withVirtualTime<Result>(
  seed: UInt64? = nil, limits: VirtualTime.Limits = .init(), isolation: isolated (any Actor)? = #isolation,
  file: StaticString = #fileID,
  line: Int = #line, _ body: @escaping (VirtualTime) async throws -> Result
) async throws -> Result {
  let body = Unchecked(body)
  return try await run(seed, limits, "\(file):\(line)", body).value.get()
}

/// The same for a body that throws nothing. What would be a ``VirtualTimeError`` stops the process with a message.
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

/// Unchecked, because one task has it at a time: the caller, which waits while the body's task has it.
private struct Unchecked<Value>: @unchecked Sendable {
  let value: Value
  init(_ value: Value) { self.value = value }
}

/// Not isolated, so that an actor that the caller is on is free for the body.
private nonisolated func run<Value>(
  _ seed: UInt64?, _ limits: VirtualTime.Limits, _ caller: String,
  _ body: Unchecked<(VirtualTime) async throws -> Value>
) async throws(VirtualTimeError) -> Unchecked<Result<Value, any Error>> {
  guard VirtualExecutors.areAvailable else { throw .unavailable }
  if VirtualScope.here != nil || VirtualScope.inherited.map({ !$0.state.read(\.isOver) }) ?? false { throw .nested }
  VirtualExecutors.install()
  let scope = VirtualScope(seed: seed, limits: limits), outcome = Protected<Unchecked<Result<Value, any Error>>?>(nil)
  let thread: DrivingThread
  do { thread = try DrivingThread() } catch { throw .noThread(error) }
  let task = scope.begin {
    do {
      let value = try await body.value(VirtualTime(scope: scope))
      outcome.write(Unchecked(.success(value)))
    } catch { outcome.write(Unchecked(.failure(error))) }
  }
  let failure = await withTaskCancellationHandler {
    await withCheckedContinuation { continuation in
      thread.run { continuation.resume(returning: scope.drive(task)) }
    }
  } onCancel: {
    scope.cancel()
  }
  thread.join()
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

/// Prints a line on the standard error.
func warn(_ advice: String) { csched_testing_warn_("Scheduler: withVirtualTime: \(advice)\n") }
