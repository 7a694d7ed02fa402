// What an async function must not call, each with what to use. The compiler's own verifier reads the comments (-verify).
import Scheduler

func blocks(_ thread: ThreadScheduler, _ queue: SerialScheduler, _ lock: UnfairLock, _ loop: RunLoopLock) async throws {
  thread.join()  // expected-error {{use await stopAndJoin()}}
  queue.sync {}  // expected-error {{use await perform}}
  try queue.trySync {}  // expected-error {{use await perform}}
  lock.lock()  // expected-error {{use withLock}}
  try loop.run()  // expected-error {{await a continuation, or scheduler.perform}}
  try runAndWait {}  // expected-error {{await the function itself}}
}

// What takes their place.
func doesNot(_ thread: ThreadScheduler, _ queue: SerialScheduler, _ lock: UnfairLock) async throws {
  await thread.stopAndJoin()
  try await queue.perform {}
  lock.withLock {}
  ConcurrentScheduler.withReplacementThread {}
}

// An action that awaits or throws.
func work() async {}
func fail() async throws {}
func failAtOnce() throws {}
func awaits(
  _ any: any SchedulerType, _ erased: AnyScheduler, _ thread: ThreadScheduler, _ queue: SerialScheduler,
  _ pool: ConcurrentScheduler, _ test: TestScheduler
) {
  any.schedule { await work() }  // expected-error {{neither awaits nor throws}}
  erased.schedule { await work() }  // expected-error {{neither awaits nor throws}}
  thread.schedule { await work() }  // expected-error {{Task(executorPreference: scheduler) { await … }}}
  queue.schedule { await work() }  // expected-error {{neither awaits nor throws}}
  pool.schedule { await work() }  // expected-error {{neither awaits nor throws}}
  test.schedule { await work() }  // expected-error {{neither awaits nor throws}}
  MainScheduler.instance.schedule { await work() }  // expected-error {{neither awaits nor throws}}
  CurrentThreadScheduler.instance.schedule { await work() }  // expected-error {{neither awaits nor throws}}
  ImmediateScheduler.instance.schedule { await work() }  // expected-error {{neither awaits nor throws}}
  thread.schedule { try await fail() }  // expected-error {{neither awaits nor throws}}
  thread.schedule { try? await fail() }  // expected-error {{neither awaits nor throws}}
  thread.schedule { try failAtOnce() }  // expected-error {{try await scheduler.perform { … }}}
  thread.schedule(work)  // expected-error {{neither awaits nor throws}}
  let action = thread.schedule { await work() }  // expected-error {{neither awaits nor throws}}
  action.dispose()
  thread.schedule(after: .seconds(1)) { await work() }  // expected-error {{try await scheduler.sleep(for: delay)}}
  any.schedule(after: .seconds(1)) { try await fail() }  // expected-error {{try await scheduler.sleep(for: delay)}}
  thread.schedule(after: .zero, repeating: .seconds(1)) { await work() }  // expected-error {{scheduler.ticks(}}
}

// What awaits nothing is as before.
func doesNotAwait(_ thread: ThreadScheduler) {
  thread.schedule {}
  thread.schedule { try? failAtOnce() }
  thread.schedule { Task { await work() } }
  thread.schedule(after: .seconds(1)) {}
  thread.schedule(after: .zero, repeating: .seconds(1)) {}
}
