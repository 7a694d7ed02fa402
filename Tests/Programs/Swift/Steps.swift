import Foundation
import Grammar
import Scheduler

/// The capture of an action's closure: the end of the captures is the end of this object.
private final class Probe: Sendable {
  private let world: World
  private let number: Int32

  init(_ number: Int32, in world: World) {
    self.number = number
    self.world = world
  }

  deinit {
    if program_is_child() { return }
    let fate = world.fate(number)
    if step(number).kind == CAPTURE { world.runBody(step(number).first, on: none, in: nil) }
    require(fate.releases.change(by: 1) == 1, "step \(number) is released twice")
  }

  func run(through context: ActionContext? = nil) {
    if program_is_child() { return }
    require(world.fate(number).runs.change(by: 1) == 1, "step \(number) runs again")
    world.note(number, "runs")
    world.work(number, through: context)
  }

  func tick() {
    if program_is_child() { return }
    let fate = world.fate(number), own = step(number)
    world.count(own.node, by: 1)
    let ticks = fate.runs.change(by: 1)
    world.note(number, "ticks")
    require(Schedulers.current === world.place(own.node).scheduler, "step \(number): another scheduler is current")
    world.count(own.node, by: -1)
    if ticks >= 3 { fate.token.read()?.dispose() }
  }
}

/// Durations that end long after the program.
let endless: [Duration] = [
  .seconds(Int64.max), Duration(secondsComponent: .max, attosecondsComponent: 999_999_999_999_999_999),
  .seconds(1 << 40),
  .nanoseconds(Int64.max),
]

/// The signals that the calling thread blocks.
func blockedSignals() -> [Int32] {
  var mask = sigset_t()
  pthread_sigmask(SIG_BLOCK, nil, &mask)
  return (1..<65).filter { sigismember(&mask, $0) == 1 }
}

/// Those that the main thread blocks.
let mainBlockedSignals = Protected<[Int32]>([])

/// Makes objects of all kinds, uses and ends them. A child of fork can do so, too, if the parent has done so before: it
/// finds all types made.
func useNewObjects() {
  let runs = Counter(), group = ActionGroup()
  do {
    let thread = try ThreadScheduler(), pool = try WorkerPool(workers: 1), queue = SerialScheduler()
    queue.sync { _ = runs.change(by: 1) }
    let targets: [SchedulerTarget] = [
      thread, pool.scheduler(), queue, SerialScheduler(target: thread), ConcurrentScheduler(),
      ConcurrentScheduler(limit: 1),
    ]
    // No thread waits for these, so none helps with them.
    for target in [thread, pool.scheduler()] as [SchedulerTarget] {
      group.schedule(on: target) {
        require(blockedSignals() == mainBlockedSignals.read(), "a thread blocks \(blockedSignals())")
      }
    }
    for target in targets {
      group.schedule(on: target) { runs.change(by: 1) }
      group.scheduler(on: target).schedule(after: .microseconds(50)) { runs.change(by: 1) }
    }
    queue.schedule { usleep(50) }
    queue.sync { _ = runs.change(by: 1) }
    group.wait()
    require(runs.value == 2 * targets.count + 2, "\(runs.value) actions of new objects run")
    thread.stop()
    thread.join()
    pool.stop()
    pool.join()
  } catch { require(false, "new objects: \(error)") }
}

/// The capture of each closure of a burst.
private final class BurstAction: Sendable {
  let fate: Fate
  init(_ fate: Fate) { self.fate = fate }
  deinit { fate.releases.change(by: 1) }
  func run() { fate.hasEnded.change(by: 1) }
}

extension World {
  /// Does the steps of an action or a thread. `here`: the node of the innermost action; `group`: the group of what is
  /// submitted.
  func runBody(_ first: Int32, on here: Int32, in group: ActionGroup?, through context: ActionContext? = nil) {
    for number in list(first) { run(number, on: here, in: group, through: context) }
  }

  /// The body of an action. `context`: what it schedules goes through this.
  func work(_ number: Int32, through context: ActionContext? = nil) {
    let own = step(number), place = place(own.node)
    count(own.node, by: 1)
    require(Schedulers.current === place.scheduler, "step \(number): another scheduler is current")
    checkOrder(number)
    if own.kind != CAPTURE { runBody(own.first, on: own.node, in: nil, through: context) }
    require(Schedulers.current === place.scheduler, "step \(number): another scheduler is current at its end")
    count(own.node, by: -1)
    fate(number).hasEnded.change(by: 1)
  }

  func run(_ number: Int32, on here: Int32 = none, in group: ActionGroup?, through context: ActionContext? = nil) {
    let own = step(number)
    switch own.kind {
    case SUBMIT where context != nil: submit(number, through: context!)
    case SUBMIT, DELAY, CAPTURE: submit(number, in: group)
    case CONTEXT: submitWithContext(number)
    case BURST: submitBurst(number)
    case EVENT: merge(number)
    case FAR: submitForNever(number)
    case SOURCES: watchSocket(number)
    case SIGNAL: watchSignal(number)
    case PROCESS: watchProcess(number)
    case MAKE: useNewObjects()
    case FORK:
      let status = program_fork { useNewObjects() }
      require(status == 0, "step \(number): the child ends with \(status)")
    case PERIODIC: tick(number, in: group)
    case TASK: start(number)
    case SYNC: sync(number, from: here)
    case CANCEL: cancelled(own.other)?.dispose()
    case CANCEL_AND_WAIT:
      guard let token = cancelled(own.other) else { break }
      token.disposeAndWait()
      checkCancelled(own.other)
    case CANCEL_TASK: self.fate(own.other).task.read()?.cancel()
    case SLEEP: if time == nil { usleep(UInt32(own.amount)) }
    case LOCK: lock(number) { runBody(own.first, on: here, in: nil) }
    case SUSPEND:
      place(own.node).serial.suspend()
      runBody(own.first, on: here, in: nil)
      place(own.node).serial.resume()
    case GROUP, GROUP_SOON:
      let group = ActionGroup()
      runBody(own.first, on: here, in: group)
      if own.kind == GROUP_SOON { _ = group.wait(for: .microseconds(Int(own.amount))) }
      group.wait()
      checkMembers(of: number)
    case APPLY:
      let counts = Protected([Int](repeating: 0, count: 100))
      let locks = own.amount % 2 == 0 && (own.parent < 0 || step(own.parent).kind != LOCK)
      (place(own.node).scheduler as! ConcurrentScheduler).concurrentPerform(
        iterations: 100, grain: 1 + Int(own.amount) % 7
      ) { n in
        if locks { plain.withLock { $0 += 1 } }
        counts.withLock { $0[n] += 1 }
      }
      require(counts.read() == [Int](repeating: 1, count: 100), "step \(number): \(counts.read())")
    case STOP:
      let place = place(own.node), policy: Schedulers.StopPolicy = own.amount == 0 ? .runOutstanding : .dropOutstanding
      place.stops.bitwiseOr(1 << Int(own.amount), ordering: .sequentiallyConsistent)
      place.thread?.stop(policy)
      place.pool?.stop(policy)
    default: require(false, "step \(number) of kind \(own.kind.rawValue) in a thread")
    }
  }

  /// Calls `body` with the lock of the step.
  private func lock(_ number: Int32, _ body: () -> Void) {
    let kind = Int(step(number).amount) % PROGRAM_LOCK_KINDS
    func locked() {
      let others = owners[kind].change(by: 1) - 1, writers = owners[PROGRAM_LOCK_WRITE].value,
        readers = owners[PROGRAM_LOCK_READ].value
      require(
        kind == PROGRAM_LOCK_READ ? writers == 0 : others == 0, "step \(number): others have the lock of kind \(kind)")
      require(kind != PROGRAM_LOCK_WRITE || readers == 0, "step \(number): readers have the lock")
      body()
      owners[kind].change(by: -1)
    }
    switch kind {
    case PROGRAM_LOCK_PLAIN: plain.withLock { _ in locked() }
    case PROGRAM_LOCK_RECURSIVE: recursive.withLock { recursive.withLock { locked() } }
    case PROGRAM_LOCK_READ: readWrite.withReadLock { locked() }
    case PROGRAM_LOCK_WRITE: readWrite.withWriteLock { locked() }
    case PROGRAM_LOCK_UNIT:
      unit.wait()
      locked()
      unit.signal()
    default:
      monitor.withLock {
        while isTaken.value != 0 { changed.wait(with: monitor) }
        isTaken.change(by: 1)
      }
      locked()
      monitor.withLock { _ = isTaken.change(by: -1) }
      changed.signal()
    }
  }

  private func submit(_ number: Int32, in group: ActionGroup?) {
    let own = step(number), fate = fate(number), scheduler = place(own.node).scheduler
    let delay = Duration.microseconds(Int(own.amount)), due = now + delay
    // called for each use: the captures must have no other reference when the submission returns
    func action() -> @Sendable () -> Void {
      let probe = Probe(number, in: self)
      return { [self] in
        if own.kind == DELAY { require(isRight(now, for: due), "step \(number) runs at \(now), not at \(due)") }
        probe.run()
      }
    }
    let dropped: @Sendable (SchedulerError) -> Void = { [self] error in
      require(mayBeRefused(own.node), "step \(number) is dropped: \(error)")
      require(
        fate.drops.change(by: 1) == 1 && fate.runs.value == 0, "step \(number) is dropped again, or after its run")
    }
    fate.submitted.change(by: 1)
    let token: any Disposable
    switch (own.kind == DELAY, own.amount % 2 == 0) {
    case (false, true):
      token = group?.schedule(on: scheduler, action()) ?? scheduler.schedule(action(), onDrop: dropped)
    case (false, false): token = group?.schedule(on: scheduler, action()) ?? scheduler.schedule(action())
    case (true, true) where group == nil: token = scheduler.schedule(after: delay, action(), onDrop: dropped)
    default: token = (group?.scheduler(on: scheduler) ?? scheduler).schedule(after: delay, action())
    }
    if !mayBeRefused(own.node) { fate.isBeforeStop.store(true, ordering: .sequentiallyConsistent) }
    fate.token.write(token)
  }

  private func actionWithContext(_ number: Int32) -> @Sendable (ActionContext) -> Void {
    let probe = Probe(number, in: self)
    return { context in probe.run(through: context) }
  }

  private func submitWithContext(_ number: Int32) {
    let own = step(number), fate = fate(number)
    fate.submitted.change(by: 1)
    let token = place(own.node).scheduler.schedule(actionWithContext(number))
    if !mayBeRefused(own.node) { fate.isBeforeStop.store(true, ordering: .sequentiallyConsistent) }
    fate.token.write(token)
  }

  private func submit(_ number: Int32, through context: ActionContext) {
    fate(number).submitted.change(by: 1)
    let token = context.schedule(on: place(step(number).node).scheduler, actionWithContext(number))
    fate(number).token.write(token)
  }

  private func submitBurst(_ number: Int32) {
    let own = step(number), fate = fate(number), scheduler = place(own.node).scheduler
    let isOrdered = [SERIAL, THREAD].contains(node(own.node).kind), next = Protected(0)
    fate.submitted.change(by: 1)
    for n in 0..<World.burst {
      let end = BurstAction(fate)
      scheduler.schedule { [self] in
        if program_is_child() { return }
        count(own.node, by: 1)
        next.withLock {
          require(!isOrdered || $0 <= n, "step \(number): action \(n) runs after \($0 - 1)")
          $0 = max($0, n + 1)
        }
        count(own.node, by: -1)
        end.run()
      }
    }
    if !mayBeRefused(own.node) { fate.isBeforeStop.store(true, ordering: .sequentiallyConsistent) }
  }

  private func submitForNever(_ number: Int32) {
    let own = step(number), fate = fate(number), scheduler = place(own.node).scheduler,
      long = endless[Int(own.amount) % 4]
    func action() -> @Sendable () -> Void {
      let probe = Probe(number, in: self)
      return { probe.run() }
    }
    fate.submitted.change(by: 1)
    let token =
      own.amount % 3 == 0
      ? scheduler.schedule(.every(long, after: long), action()) : scheduler.schedule(after: long, action())
    token.dispose()
    require(fate.runs.value == 0, "step \(number) runs")
  }

  private func merge(_ number: Int32) {
    let own = step(number), isInside = Protected(false), isOver = Protected(false)
    let event = MergingEvent(on: place(own.node).scheduler, own.amount % 2 == 0 ? .union : .sum) { [self] _ in
      if program_is_child() { return }
      require(!isOver.read(), "step \(number): an event after its end")
      isInside.write(true)
      count(own.node, by: 1)
      if own.amount % 3 == 0 { usleep(50) }
      count(own.node, by: -1)
      isInside.write(false)
    }
    for n in 0..<3 as Range<UInt64> { event.merge(1 << n) }
    event.disposeAndWait()
    require(!isInside.read(), "step \(number): the event's handler runs after a wait")
    isOver.write(true)
  }

  private func tick(_ number: Int32, in group: ActionGroup?) {
    let own = step(number), fate = fate(number), scheduler = place(own.node).scheduler
    func action() -> @Sendable () -> Void {
      let probe = Probe(number, in: self)
      return { probe.tick() }
    }
    fate.submitted.change(by: 1)
    let token = (group?.scheduler(on: scheduler) ?? scheduler).schedule(
      .every(.microseconds(50 + Int(own.amount)), after: .zero), action())
    fate.token.write(token)
    if fate.runs.value >= 3 { token.dispose() }  // the ticks so far have not seen it
  }

  private func sync(_ number: Int32, from here: Int32) {
    let own = step(number), fate = fate(number), mayBe = mayBeRefused(own.node)
    countPermits(of: here, by: -1)
    do {
      try place(own.node).serial.trySync { [self] in
        require(fate.runs.change(by: 1) == 1, "step \(number) runs again")
        work(number)
      }
      require(fate.hasEnded.value == 1, "step \(number): sync returns before the end of its body")
    } catch {
      require(
        error as? SchedulerError == .stopped && (mayBe || mayBeRefused(own.node)),
        "step \(number): sync throws \(error)")
      require(fate.runs.value == 0, "step \(number): sync throws \(error) beside its body")
    }
    countPermits(of: here, by: 1)
  }

  /// Returns the disposable of an action that is to be cancelled; `nil`: it has not been submitted.
  func cancelled(_ number: Int32) -> (any Disposable)? {
    fate(number).cancels.change(by: 1)
    return fate(number).token.read()
  }

  /// Checks what holds of an action whose disposable has been disposed, and waited for, and of what was scheduled
  /// through its context.
  func checkCancelled(_ number: Int32) {
    let fate = fate(number)
    if step(number).kind != PERIODIC {
      require(fate.runs.value == fate.hasEnded.value, "step \(number) runs after a wait")
    }
    require(fate.releases.value == 1, "the captures of step \(number) exist after a wait")
    if step(number).kind == CONTEXT { checkBelow(number) }
  }

  private func checkBelow(_ number: Int32) {
    for below in list(step(number).first) where step(below).kind == SUBMIT && fate(below).submitted.value != 0 {
      require(fate(below).runs.value == fate(below).hasEnded.value, "step \(below) runs after a wait for its context")
      require(fate(below).releases.value == 1, "the captures of step \(below) exist after a wait for its context")
      checkBelow(below)
    }
  }

  func checkMembers(of number: Int32) {
    for member in list(step(number).first) {
      let fate = fate(member)
      if [SUBMIT, DELAY].contains(step(member).kind) {
        require(fate.runs.value == fate.hasEnded.value, "step \(number): the group does not wait for step \(member)")
      }
    }
  }

  private func start(_ number: Int32) {
    let own = step(number), fate = fate(number)
    fate.submitted.change(by: 1)
    let body: @Sendable () async -> Void = { [self] in
      if own.node != none, time == nil {
        let isRight = Schedulers.current === place(own.node).scheduler
        require(isRight || mayBeRefused(own.node), "step \(number): the task is elsewhere")
      }
      await runTask(own.first, in: nil)
      fate.hasEnded.change(by: 1)
    }
    let task =
      own.node == none || place(own.node).executor == nil
      ? Task.detached(operation: body) : Task.detached(executorPreference: place(own.node).executor!, operation: body)
    fate.task.write(task)
  }
}
