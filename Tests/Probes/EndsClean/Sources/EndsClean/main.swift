// A program that has used every kind of scheduler, and ends with nothing of ours left: Tools/probes runs it, also under valgrind.
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
    MainScheduler.asyncInstance, AnyScheduler(queue), queue.wrapping { run in run() },
  ]
  let bag = DisposeBag()
  for scheduler in schedulers {
    scheduler.schedule { count.withLock { $0 += 1 } }
    scheduler.schedule(after: .milliseconds(1)) { count.withLock { $0 += 1 } }
    scheduler.schedule(after: .milliseconds(1), repeating: .milliseconds(1)) {}.disposed(by: bag)
    scheduler.schedule(after: .seconds(60)) {}  // dropped at the end
    scheduler.schedule(1) { _ in Disposables.create {} }.disposed(by: bag)
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

/// What Tools/probes must find.
func leak() {
  let cycle = SingleAssignmentDisposable()
  cycle.setDisposable(Disposables.create { cycle.dispose() })
}

try use()
switch CommandLine.arguments.dropFirst().first {
case "without-shutdown": break
case "with-a-leak":
  leak()
  Schedulers.shutdown()
default: end()
}
print("ends with \(Diagnostics.live)")
