// The public surface as a program of 2026 uses it. It is compiled without a warning in each language mode that a
// program may have, and run. `examples` has the list of modes.

import Scheduler

@MainActor final class Screen {
  var lines: [String] = []
  private let bag = DisposeBag()
  private let ticking = SerialDisposable()

  func observe(_ queue: SerialScheduler) {
    // An isolated method as a callback of an action.
    queue.schedule { [weak self] in
      Task { await self?.show("from a queue") }
    }.disposed(by: bag)
    MainScheduler.instance.schedule(onMainActor: { [weak self] in self?.show("on the main actor") }).disposed(by: bag)
    ticking.disposable = queue.schedule(.every(.seconds(3_600))) {}
  }

  func show(_ line: String) { lines.append(line) }

  deinit { ticking.dispose() }
}

nonisolated final class Plain { var number = 0 }  // not Sendable

nonisolated struct Unique: ~Copyable { var number = 0 }

actor Store {
  private let queue = SerialScheduler(name: "store")
  private var saved = 0
  func save() async throws -> Int {
    saved += 1
    let copy = saved
    return try await queue.perform { copy + 1 }
  }
}

/// A wrapper of the user's.
struct Logging: SchedulerType {
  let base: any SchedulerType
  var now: MonotonicTime { base.now }
  @discardableResult func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable { base.schedule(action) }
  @discardableResult func schedule(
    _ timing: ActionTiming, _ action: @escaping @Sendable () -> Void
  ) -> any Disposable { base.schedule(timing, action) }
}

/// A disposable of the user's.
final class Token: Disposable {
  private let ended = Protected(false)
  var isDisposed: Bool { ended.read() }
  func dispose() { ended.write(true) }
}

func schedulers() async throws {
  let thread = try ThreadScheduler(name: "thread"), queue = SerialScheduler(target: thread)
  let pool = ConcurrentScheduler(), limited = ConcurrentScheduler(limit: 2), logging = Logging(base: pool)
  let group = ActionGroup(), count = Protected(0)
  for scheduler in [thread, queue, pool, limited, logging] as [any SchedulerType] {
    group.schedule(on: scheduler) { count.withLock { $0 += 1 } }
    let late = scheduler.schedule(after: .seconds(3_600)) { count.withLock { $0 += 1_000 } }
    late.dispose()
    try await scheduler.perform { count.withLock { $0 += 1 } }
    try await scheduler.perform(deadline: .now + .seconds(600)) { count.withLock { $0 += 1 } }
    try await scheduler.sleep(for: .milliseconds(1))
  }
  try await group.waitForAll(deadline: .now + .seconds(600))
  var ticks = 0
  for try await _ in pool.ticks(every: .milliseconds(1)) {
    ticks += 1
    if ticks == 3 { break }
  }
  let plain = try await thread.perform { Plain() }
  plain.number += count.read() + ticks
  let confined = thread.confine { Plain() }
  let inside = try await confined.perform { plain in
    plain.number += 1
    return plain.number
  }
  precondition(plain.number == 18 && inside == 1)
  let results = ResultGroup<Int>()
  results.schedule(on: queue) { 7 }
  for await result in results { precondition((try? result.get()) == 7) }
  await thread.stopAndJoin()
}

func tasks() async throws {
  let lock = AsyncLock(Plain()), unique = AsyncLock(Unique()), semaphore = AsyncSemaphore(units: 1)
  try await lock.withLock { plain in
    await Task.yield()
    plain.number += 1
  }
  try await unique.withLock { $0.number += 1 }
  try await semaphore.withUnits { await Task.yield() }
  let limit = AsyncLimit(2), saves = AsyncLimit(1)
  let value = try await limit.run {
    await Task.yield()
    return 3
  }
  let saved = try await saves.submit { 4 }.value
  let page = try await ConcurrentScheduler().limited(to: 2).perform { 5 }
  precondition(value + saved + page == 12)
  let plain = Plain()
  try await withTimeout(.seconds(600)) {
    await Task.yield()
    plain.number += 1
  }
  await withTaskCancellationShield { await Task.yield() }
  do {
    try await withTimeout(.milliseconds(1)) { try await AsyncSemaphore().wait() }
    preconditionFailure("the semaphore has no unit")
  } catch SchedulerError.timeout {}
  let store = Store()
  let stored = try await store.save()
  precondition(stored == 2 && plain.number == 1)
}

nonisolated func values() {
  let number = Protected(1), guarded = Guarded(Plain())
  number.withLock { $0 += 1 }
  let unique = number.withLock { Unique(number: $0) }
  guarded.withLock { $0.number += unique.number }
  precondition(guarded.withLock { $0.number } == 2)
  let composite = CompositeDisposable(), single = SingleAssignmentDisposable()
  _ = composite.insert(Token())
  single.setDisposable(AnyDisposable { number.write(5) })
  _ = composite.insert(single)
  composite.dispose()
  precondition(number.read() == 5)
  let scheduler = TestScheduler()
  scheduler.schedule(after: .seconds(10)) { number.write(6) }
  scheduler.advance(by: .seconds(10))
  precondition(number.read() == 6)
}

nonisolated func run() async throws {
  try await schedulers()
  try await tasks()
  values()
  let queue = SerialScheduler()
  let screen = await MainActor.run { Screen() }
  await screen.observe(queue)
  try await queue.perform {}
}

try await run()
print("the surface compiles and runs in this mode")
