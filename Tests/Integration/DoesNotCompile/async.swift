// What an async function must not call, each with what to use. The compiler's own verifier reads the comments
// (-verify).
import Scheduler

func blocks(
  _ thread: ThreadScheduler, _ threads: ThreadScheduler.Group, _ pool: WorkerPool, _ queue: SerialScheduler,
  _ group: ActionGroup, _ results: ResultGroup<Int>, _ token: any Disposable
) async throws {
  thread.join()  // expected-error {{use await stopAndJoin()}}
  threads.stopAndJoin()  // expected-error {{'async' but is not marked with 'await'}} expected-note {{call is 'async'}}
  pool.join()  // expected-error {{use await stopAndJoin}}
  queue.sync {}  // expected-error {{use await perform}}
  try queue.trySync {}  // expected-error {{use await perform}}
  group.wait()  // expected-error {{use await waitForAll}}
  _ = group.wait(for: .zero)  // expected-error {{use await waitForAll}}
  _ = group.wait(until: thread.now)  // expected-error {{use await waitForAll}}
  _ = results.next()  // expected-error {{'async' but is not marked with 'await'}} expected-note {{call is 'async'}}
  _ = try results.next(for: .zero)  // expected-error {{use await next()}}
  _ = try results.next(until: thread.now)  // expected-error {{use await next()}}
  token.disposeAndWait()  // expected-error {{'async' but is not marked with 'await'}} expected-note {{call is 'async'}}
}

func sleeps(_ loop: RunLoopLock, _ blocking: BlockingObservable<Int>) async throws {
  try loop.run()  // expected-error {{await a continuation, or scheduler.perform}}
  try runAndWait {}  // expected-error {{await the function itself}}
  _ = try blocking.toArray()  // expected-error {{await the sequence itself}}
  _ = try blocking.first()  // expected-error {{await the sequence itself}}
  _ = try blocking.last()  // expected-error {{await the sequence itself}}
  _ = try blocking.single()  // expected-error {{await the sequence itself}}
  _ = try blocking.single { $0 > 0 }  // expected-error {{await the sequence itself}}
}

func locks(
  _ lock: UnfairLock, _ recursive: RecursiveLock, _ shared: ReadWriteLock, _ condition: UnfairLock.Condition,
  _ semaphore: CountingSemaphore, _ number: Protected<Int>, _ end: MonotonicTime
) async throws {
  lock.lock()  // expected-error {{use withLock}}
  recursive.lock()  // expected-error {{use withLock}}
  shared.lockForReading()  // expected-error {{use withReadLock}}
  shared.lockForWriting()  // expected-error {{use withWriteLock}}
  condition.wait(with: lock)  // expected-error {{await a continuation}}
  _ = condition.wait(with: lock, for: .zero)  // expected-error {{await a continuation}}
  _ = condition.wait(with: lock, until: end)  // expected-error {{await a continuation}}
  semaphore.wait()  // expected-error {{await a continuation}}
  _ = semaphore.wait(for: .zero)  // expected-error {{await a continuation}}
  _ = semaphore.wait(until: end)  // expected-error {{await a continuation}}
  number.withLock(on: condition, when: { $0 > 0 }) { _ in }  // expected-error {{await a continuation}}
  let isReady: (Int) -> Bool = { $0 > 0 }
  number.withLock(on: condition, for: .zero, when: isReady) { _ in }  // expected-error {{await a continuation}}
  number.withLock(on: condition, until: end, when: isReady) { _ in }  // expected-error {{await a continuation}}
}

// What takes their place.
func doesNot(
  _ thread: ThreadScheduler, _ threads: ThreadScheduler.Group, _ pool: WorkerPool, _ queue: SerialScheduler,
  _ lock: UnfairLock, _ results: ResultGroup<Int>, _ token: any Disposable
) async throws {
  await thread.stopAndJoin()
  await threads.stopAndJoin()
  await pool.stopAndJoin()
  await token.disposeAndWait()
  _ = await results.next()
  try await queue.perform {}
  lock.withLock {}
  ConcurrentScheduler.withReplacementThread {}
}

// An action that awaits or throws.
func work() async {}
func fail() async throws {}
func failAtOnce() throws {}
func awaits(
  _ any: any SchedulerType, _ thread: ThreadScheduler, _ queue: SerialScheduler,
  _ pool: ConcurrentScheduler, _ test: TestScheduler
) {
  any.schedule { await work() }  // expected-error {{neither awaits nor throws}}
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
  thread.schedule(.every(.seconds(1), after: .zero)) { await work() }  // expected-error {{scheduler.ticks(}}
  thread.schedule(.every(.seconds(1))) { await work() }  // expected-error {{scheduler.ticks(}}
}

func performs(_ any: any SchedulerType, _ thread: ThreadScheduler, _ queue: SerialScheduler) async throws {
  try await any.perform { await work() }  // expected-error {{an action does not await}}
  try await thread.perform { await work() }  // expected-error {{an action does not await}}
  try await queue.perform { try await fail() }  // expected-error {{an action does not await}}
  try await queue.perform {}
  try await queue.perform { try failAtOnce() }
}

// What awaits nothing is as before.
func doesNotAwait(_ thread: ThreadScheduler) {
  thread.schedule {}
  thread.schedule { try? failAtOnce() }
  thread.schedule { Task { await work() } }
  thread.schedule(after: .seconds(1)) {}
  thread.schedule(.every(.seconds(1), after: .zero)) {}
  thread.schedule(.every(.seconds(1))) {}
}
