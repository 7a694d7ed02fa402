// A program that uses every kind of scheduler, and ends without leaks: Tools/examples runs it, also under valgrind.
import Scheduler

func check(_ condition: Bool, _ text: @autoclosure () -> String) {
  if !condition { fatalError("EndsClean: \(text()); \(Diagnostics.live)") }
}

func use() throws {
  let count = Protected(0)
  let thread = try ThreadScheduler(name: "ends clean")
  let queue = SerialScheduler(name: "queue"), onThread = SerialScheduler(target: thread)
  let custom = CustomScheduler { work in queue.schedule(work) }
  let schedulers: [any SchedulerType] = [
    thread, queue, onThread, custom, ConcurrentScheduler(), SubscriptionScheduler.instance, MainScheduler.instance,
    MainScheduler.asyncInstance, ActionGroup().scheduler(on: queue), queue.wrapping { run in run() },
  ]
  let bag = DisposeBag()
  for scheduler in schedulers {
    scheduler.schedule { count.withLock { $0 += 1 } }
    scheduler.schedule(after: .milliseconds(1)) { count.withLock { $0 += 1 } }
    scheduler.schedule(.every(.milliseconds(1), after: .milliseconds(1))) {}.disposed(by: bag)
    scheduler.schedule(after: .seconds(60)) {}  // dropped at the end
    scheduler.schedule {}.disposed(by: bag)
  }
  CurrentThreadScheduler.instance.schedule { CurrentThreadScheduler.instance.schedule { count.withLock { $0 += 1 } } }
  ImmediateScheduler.instance.schedule(after: .milliseconds(1)) {}
  let virtual = TestScheduler()
  virtual.schedule(after: .seconds(1)) {}
  virtual.run()
  check(try runAndWait { 7 } == 7, "a task on the pool")
  while count.read() < 2 * schedulers.count + 1 { MainScheduler.run(until: .now.advanced(by: .milliseconds(1))) }
  queue.scheduleRecursive(3) { n, again in if n > 0 { again(n - 1) } }.dispose()
  thread.stop(.dropOutstanding)
  thread.join()
}

actor Account {
  private let scheduler: SerialScheduler
  private(set) var balance = 0
  nonisolated var unownedExecutor: UnownedSerialExecutor { scheduler.asUnownedSerialExecutor() }

  init(on scheduler: SerialScheduler) { self.scheduler = scheduler }
  func deposit(_ amount: Int) { balance += amount }
}

func useTasks() throws {
  let thread = try ThreadScheduler(name: "tasks"), pool = try WorkerPool(name: "own", workers: 2)
  let sum = try runAndWait {
    var sum = 0
    for queue in [SerialScheduler(), SerialScheduler(target: thread), SerialScheduler(target: pool.scheduler())] {
      let account = Account(on: queue)
      await withTaskGroup(of: Void.self) { group in
        for n in 1...10 { group.addTask(executorPreference: queue) { await account.deposit(n) } }
      }
      sum += await account.balance
      try await queue.sleep(for: .milliseconds(1))
      sum += try await queue.perform { 1 }
      for try await _ in queue.ticks(every: .milliseconds(1)) { break }
    }
    let words = thread.confine { ["one"] }, kept = thread.confine { [1] }
    sum += try await words.perform { $0.count } + kept.perform { $0[0] }
    await thread.stopAndJoin()
    await Task(executorPreference: thread) {}.value  // late, on the pool
    await pool.stopAndJoin()
    return sum
  }
  check(sum == 3 * 56 + 2, "tasks on schedulers: \(sum)")
}

func useTogether() throws {
  let limited = ConcurrentScheduler(limit: 2), group = ActionGroup(), results = ResultGroup<Int>()
  let all = ActionGroup(), counted = all.scheduler(on: limited), threads = try ThreadScheduler.Group(count: 2),
    merged = Protected<UInt64>(0)
  let event = MergingEvent(on: threads.next(), .sum) { value in merged.withLock { $0 += value } }
  for n in 0..<10 {
    group.schedule(on: limited.barrier) {}
    results.schedule(on: threads.scheduler(for: n)) { n }
    counted.schedule { context in
      context.onDispose {}
      context.schedule(on: limited, after: .seconds(60)) { _ in }
    }.dispose()
    event.merge(1)
  }
  counted.schedule(after: .seconds(60)) {}
  all.cancelAll()
  check(all.wait(for: .seconds(10)) && group.wait(for: .seconds(10)), "groups")
  var sum = 0
  while let result = results.next() { sum += try result.get() }
  while merged.read() < 10 { MainScheduler.run(until: .now.advanced(by: .milliseconds(1))) }
  check(sum == 45, "results")
  threads.stopAndJoin()
}

func end() {
  let last = Protected(false)
  // The main scheduler's last action makes a pool once more.
  MainScheduler.asyncInstance.schedule { ConcurrentScheduler().schedule { last.write(true) } }
  check(!Diagnostics.isOn || !Diagnostics.live.isEmpty, "something is left before")
  Schedulers.shutdown()
  Schedulers.shutdown()
  check(last.read(), "what was outstanding ran")
  check(MainScheduler.asyncInstance.schedule {}.isDisposed, "the main scheduler refuses")
  check(Diagnostics.live.isEmpty && Diagnostics.live.threads == 0, "something is left")
}

/// What Tools/examples must find.
func leak() {
  let cycle = SingleAssignmentDisposable()
  cycle.setDisposable(AnyDisposable { cycle.dispose() })
}

try use()
try useTasks()
try useTogether()
switch CommandLine.arguments.dropFirst().first {
case "without-shutdown": break
case "with-a-leak":
  leak()
  Schedulers.shutdown()
default: end()
}
print("ends with \(Diagnostics.live)")
