// TaskJob.swift, LateJobs.swift, and the ends of ThreadCore.swift and SerialCore.swift: LJ1 to LJ4.

internal import CScheduler
internal import ModelEngine

private final class State: @unchecked Sendable {
  let second = PoolCore(), first: PoolCore
  var thread: ThreadScheduler?
  var queues: [SerialScheduler] = []
  var concurrent: ConcurrentScheduler?
  /// What nothing orders but the scheduler: each job's digit, in the order in which they ran.
  let order = Note()

  init() {
    first = PoolCore(next: second)
    PoolCore.first = first
  }

  func start() -> ThreadScheduler {
    let thread = try! ThreadScheduler()
    self.thread = thread
    return thread
  }
}
nonisolated(unsafe) private var state: State!

/// Gives `scheduler` a job that notes its number, and goes on as the jobs of the numbers that follow.
private func give(
  _ number: Int, to scheduler: SchedulerTarget, _ kind: TaskJob.Kind, on thread: ThreadScheduler? = nil,
  then others: [Int] = []
) {
  let order = state.order
  let job = UnownedJob { [unowned scheduler] in
    expect(Schedulers.current === scheduler, "the scheduler is the current one")
    expect(scheduler.core.isCallerIsolated, "the caller is isolated to it")
    if let thread { expect(thread.isOnThread, "what came before the stop runs on the thread") }
    order.value = order.value * 10 + number
    if let next = others.first { give(next, to: scheduler, kind, then: Array(others.dropFirst())) }
  }
  TaskJob(job, on: scheduler, kind).submit()
}

/// As `give`, for a delayed job, such as a sleep.
private func giveDelayed(_ number: Int, to scheduler: SchedulerTarget, _ kind: TaskJob.Kind) {
  let order = state.order
  let job = UnownedJob { [unowned scheduler] in
    expect(scheduler.core.isCallerIsolated, "the caller is isolated to it")
    order.value = order.value * 10 + number
  }
  TaskJob(job, on: scheduler, kind).submit(at: csched_now() + 1_000, on: CSCHED_CLOCK_MONOTONIC, tolerance: .zero)
}

private func digits(of number: Int) -> [Int] { number == 0 ? [] : digits(of: number / 10) + [number % 10] }

/// Performs the remaining jobs. Expects that each of 1 to `count` has run once, and that the numbers of each of
/// `orders` ran in that order.
private func allRan(_ count: Int, inOrder orders: [Int]...) {
  for _ in 0..<4 {
    state.first.perform()
    state.second.perform()
  }
  let ran = digits(of: state.order.value)
  expect(ran.sorted() == Array(1...count), "each runs once")
  for order in orders { expect(ran.filter(order.contains) == order, "those of one submitter keep their order") }
  state = nil
  PoolCore.first = nil
}

private func prepare() -> State {
  model_have_chunks(2)  // a delayed job is larger
  state = State()
  return state
}

// MARK: a thread's

private func stopped(
  _ policy: Schedulers.StopPolicy, _ scheduler: @escaping (ThreadScheduler) -> (SchedulerTarget, TaskJob.Kind)
) {
  let state = prepare()
  spawn {
    let thread = state.start()
    let (target, kind) = scheduler(thread)
    spawn { state.first.perform(atMost: 3) }
    spawn {
      give(1, to: target, kind)
      give(2, to: target, kind)
    }
    give(3, to: target, kind, on: kind == .thread ? thread : nil)
    thread.stop(policy)
    give(4, to: target, kind)
    thread.joinBlocking()
    give(5, to: target, kind)
  }
}

private func threadStops() { stopped(.runOutstanding) { ($0, .thread) } }
private func threadDrops() { stopped(.dropOutstanding) { ($0, .thread) } }
private func onThread(_ thread: ThreadScheduler) -> (SchedulerTarget, TaskJob.Kind) {
  state.queues = [SerialScheduler(target: thread)]
  return (state.queues[0], .serial)
}
private func queueStops() { stopped(.runOutstanding, onThread) }
private func queueDrops() { stopped(.dropOutstanding, onThread) }
private func bothInOrder() { allRan(5, inOrder: [1, 2], [3, 4, 5]) }

// An action is running, or runs yet, when jobs go on.
private func besideAction(_ scheduler: @escaping (ThreadScheduler) -> (SchedulerTarget, TaskJob.Kind)) {
  let state = prepare(), order = state.order
  spawn {
    let thread = state.start()
    let (target, kind) = scheduler(thread)
    spawn { state.first.perform(atMost: 2) }
    spawn { give(2, to: target, kind, then: [3]) }
    thread.schedule { order.value = order.value * 10 + 1 }
    thread.stop()
    thread.joinBlocking()
  }
}

private func besideThreadsAction() { besideAction { ($0, .thread) } }
private func queueBesideAction() { besideAction(onThread) }
private func goesOn() { allRan(3, inOrder: [2, 3]) }

// Their late jobs run one at a time, because they are on one thread.
private func twoQueues() {
  let state = prepare()
  spawn {
    let thread = state.start()
    state.queues = [SerialScheduler(target: thread), SerialScheduler(target: thread)]
    thread.stop(.dropOutstanding)
    thread.joinBlocking()
    for i in 0..<2 { spawn { give(i + 1, to: state.queues[i], .serial) } }
    for _ in 0..<2 { spawn { state.first.perform(atMost: 2) } }
  }
}

private func bothRan() { allRan(2) }

// Delayed ones: in the thread's timers, on their way there, or refused.
private func delayed(_ policy: Schedulers.StopPolicy) {
  let state = prepare()
  spawn {
    let thread = state.start()
    spawn { state.first.perform(atMost: 2) }
    spawn {
      giveDelayed(1, to: thread, .thread)
      giveDelayed(2, to: thread, .thread)
    }
    giveDelayed(3, to: thread, .thread)
    thread.stop(policy)
    giveDelayed(4, to: thread, .thread)
    thread.joinBlocking()
  }
}

private func delayedStops() { delayed(.runOutstanding) }
private func delayedDrops() { delayed(.dropOutstanding) }
private func allFour() { allRan(4) }

// Of two threads that make a scheduler's table of types one takes the other's.
private func firstJobs() {
  let state = prepare()
  state.concurrent = ConcurrentScheduler()
  for number in 1...2 { spawn { give(number, to: state.concurrent!, .concurrent) } }
  spawn { state.first.perform(atMost: 2) }
}

// MARK: a queue's on the pool

private func shutDown(_ makes: @escaping () -> SerialScheduler) {
  let state = prepare()
  state.queues = [makes()]
  let queue = state.queues[0]
  spawn {
    state.first.perform(atMost: 1)
    state.first.shutDown()
  }
  spawn {
    give(1, to: queue, .serial)
    give(2, to: queue, .serial)
  }
  spawn { state.second.perform(atMost: 2) }
}

private func poolEnds() { shutDown { SerialScheduler() } }
private func poolUnderTwoEnds() { shutDown { SerialScheduler(target: SerialScheduler()) } }
private func inOrder() { allRan(2, inOrder: [1, 2]) }

// The actor's, among those of tasks.
private func ofActor() {
  let state = prepare()
  state.queues = [SerialScheduler()]
  let queue = state.queues[0]
  _ = queue.asUnownedSerialExecutor()
  spawn { state.first.shutDown() }
  spawn { give(1, to: queue, .ofActor, then: [2, 3]) }
  spawn { state.second.perform(atMost: 1) }
}

private func goesOnThrice() { allRan(3, inOrder: [1, 2, 3]) }

// Its fallback queue loses its pool, too.
private func poolEndsAgain() {
  let state = prepare()
  let third = PoolCore(), second = PoolCore(next: third), first = PoolCore(next: second)
  PoolCore.first = first
  let queue = SerialScheduler()
  state.queues = [queue]
  third.perform()
  spawn {
    give(1, to: queue, .serial)
    give(2, to: queue, .serial)
  }
  spawn {
    first.shutDown()
    second.perform(atMost: 1)
    second.shutDown()
  }
  again = third
}
nonisolated(unsafe) private var again: PoolCore?

private func inOrderOnThird() {
  again!.perform()
  again = nil
  allRan(2, inOrder: [1, 2])
}

// MARK: side by side

private func concurrent() {
  let state = prepare()
  let concurrent = ConcurrentScheduler()
  state.concurrent = concurrent
  spawn { state.first.shutDown() }
  spawn {
    give(1, to: concurrent, .concurrent)
    give(2, to: concurrent, .concurrent)
  }
}

// MARK: the last reference

/// A job that is what keeps its thread's scheduler: with it the thread ends, while the submission may still be at work.
@inline(never)
private func makeLast() -> TaskJob {
  let order = state.order, thread = try! ThreadScheduler()
  let job = UnownedJob {
    withExtendedLifetime(thread) {}
    order.value = order.value * 10 + 1
  }
  return TaskJob(job, on: thread, .thread)
}

private func lastReference() {
  _ = prepare()
  spawn { makeLast().submit() }
}

private func ranOnce() { allRan(1) }

// MARK: the thread's users

// The last of two ends it, after what each has given it.
private func twoUsers() {
  let state = prepare(), order = state.order
  spawn {
    let core = state.start().thread
    let one = state.thread!
    state.thread = nil
    let other = ThreadScheduler(core: core)
    spawn {
      one.schedule { order.value = order.value * 10 + 1 }
      core.endUse()
    }
    spawn {
      other.schedule { order.value = order.value * 10 + 2 }
      core.endUse()
    }
    expect(csched_thread_join(core.thread) == 0, "it ends")
    core.use()  // which the two schedulers give back
    core.use()
  }
}

let lateJobChecks = [
  Check("late jobs: of a thread that is stopped", threadStops, bothInOrder),  // LJ1 LJ2 LJ3
  Check("late jobs: of a thread that drops", threadDrops, bothInOrder),  // LJ1 LJ2 LJ3
  Check("late jobs: of a queue on a thread that is stopped", queueStops, bothInOrder),  // LJ1 LJ2 LJ3
  Check("late jobs: of a queue on a thread that drops", queueDrops, bothInOrder),  // LJ1 LJ2 LJ3
  Check("late jobs: beside a thread's last action", besideThreadsAction, goesOn),  // LJ1 LJ2
  Check("late jobs: of a queue, beside its thread's last action", queueBesideAction, goesOn),  // LJ1 LJ2
  Check("late jobs: delayed jobs of a thread that is stopped", delayedStops, allFour),  // LJ1 LJ2
  Check("late jobs: delayed jobs of a thread that drops", delayedDrops, allFour),  // LJ1 LJ2
  Check("jobs: the first of two threads", firstJobs, bothRan),  // JW1
  Check("late jobs: two queues of a thread that has ended", twoQueues, bothRan),  // LJ1 LJ2
  Check("late jobs: of a queue whose pool is shut down", poolEnds, inOrder),  // LJ1 LJ2 LJ3
  Check("late jobs: of a queue on a queue whose pool is shut down", poolUnderTwoEnds, inOrder),  // LJ1 LJ2 LJ3
  Check("late jobs: of an actor that continues", ofActor, goesOnThrice),  // LJ1 LJ3
  Check("late jobs: their fallback queue loses its pool", poolEndsAgain, inOrderOnThird),  // LJ1 LJ2 LJ3
  Check("late jobs: side by side", concurrent, bothRan),  // LJ1
  Check("late jobs: the last reference to their scheduler", lastReference, ranOnce),  // LJ4
  Check("late jobs: the last of two users ends a thread, after the jobs of both", twoUsers, bothRan),
]
