import Scheduler
import SchedulerRx
import Synchronization
import TestSupport
import Testing

private typealias Model = VirtualTimeModel

@Suite(.nothingIsLeft) struct VirtualTimePropertyTests {
  @Test(
    "any sequence of operations on virtual time, also from inside of actions, has the results of a sorted list"
  )
  func anySequence() {
    forAnySeed("VirtualTimePropertyTests", cases: 400) { random in
      var plans = Planner(random: random), model = Model(), done: [Model.Operation] = []
      let actual = Actual()
      for _ in 0..<40 {
        let operation = plans.any(depth: 0)
        done.append(operation)
        model.perform(operation)
        actual.perform(operation)
        if let finding = actual.difference(from: model) {
          return finding + "\nafter:\n" + done.suffix(12).map { "  \($0)" }.joined(separator: "\n")
        }
      }
      return actual.differenceAtEnd()
    }
  }
}

/// Makes operations by chance.
private struct Planner {
  var random: SeededGenerator
  private var lastName = 0

  init(random: SeededGenerator) { self.random = random }

  private mutating func time() -> Int { random.below(random.chance(1, in: 8) ? 1_000 : 20) }

  mutating func any(depth: Int) -> Model.Operation {
    switch random.below(depth == 0 ? 17 : 13) {
    case 0, 1, 2: return .schedule(plan(depth: depth), after: time() - 2)
    case 3, 4: return .scheduleAt(plan(depth: depth), time: time() * 3)
    case 5, 6: return .dispose(random.below(lastName + 1))
    case 7: return .advance(by: time() - 2)
    case 8: return .advanceTo(time() * 5)
    case 9: return .step(random.below(5) - 1)
    case 10: return .run
    case 11: return .stop
    case 12: return .sleep(by: time() - 2)
    case 13: return .scheduleRepeating(repeatingPlan(), after: time() - 2, period: time() - 1)
    default: return .advance(by: time())
    }
  }

  private mutating func plan(depth: Int) -> Model.Plan {
    lastName += 1
    var plan = Model.Plan(id: lastName, returns: random.chance(1, in: 3))
    if depth < 3 { for _ in 0..<random.below(4) { plan.body.append(any(depth: depth + 1)) } }
    return plan
  }

  /// One that comes again must not bring about anything that keeps `run` or `advance` going: that would have no end.
  private mutating func repeatingPlan() -> Model.Plan {
    lastName += 1
    var plan = Model.Plan(id: lastName)
    if random.chance(1, in: 3) { plan.body.append(.dispose(random.below(lastName + 1))) }
    if random.chance(1, in: 6) { plan.body.append(.stop) }
    return plan
  }
}

/// The scheduler, and what it does. All on one thread.
private final class Actual: Sendable {
  private let scheduler = Protected<TestScheduler?>(TestScheduler())
  private let tokens = Protected<[Int: any Disposable]>([:])
  private let log = Log<Model.Event>()
  private let held = Held()

  private var virtualTime: Int { Int(scheduler.read()?.virtualTime.nanoseconds ?? 0) }

  func perform(_ operation: Model.Operation) {
    guard let scheduler = scheduler.read() else { return }
    switch operation {
    case .schedule(let plan, let delay):
      keep(
        plan,
        plan.returns
          ? scheduler.schedule(0, after: .nanoseconds(delay), action: returning(plan))
          : scheduler.schedule(after: .nanoseconds(delay), body(plan)))
    case .scheduleAt(let plan, let time):
      let time = MonotonicTime(nanoseconds: UInt64(time))
      keep(
        plan,
        plan.returns
          ? scheduler.schedule(0, at: time, action: returning(plan)) : scheduler.schedule(at: time, body(plan)))
    case .scheduleRepeating(let plan, let delay, let period):
      keep(plan, scheduler.schedule(.every(.nanoseconds(period), after: .nanoseconds(delay)), body(plan)))
    case .dispose(let id): tokens.read()[id]?.dispose()
    case .advance(let span): scheduler.advance(by: .nanoseconds(span))
    case .advanceTo(let time): scheduler.advance(to: MonotonicTime(nanoseconds: UInt64(time)))
    case .step(let count): scheduler.step(count)
    case .run: scheduler.run()
    case .stop: scheduler.stop()
    case .sleep(let span): scheduler.sleep(by: .nanoseconds(span))
    }
  }

  private func keep(_ plan: Model.Plan, _ token: any Disposable) { tokens.withLock { $0[plan.id] = token } }

  private func run(_ plan: Model.Plan) {
    log.add(.ran(plan.id, at: virtualTime))
    for operation in plan.body { perform(operation) }
  }

  private func body(_ plan: Model.Plan) -> @Sendable () -> Void {
    let capture = Held.Capture(held)
    return { [unowned self] in
      run(plan)
      withExtendedLifetime(capture) {}
    }
  }

  private func returning(_ plan: Model.Plan) -> @Sendable (Int) -> any Disposable {
    let body = body(plan)
    return { [log] _ in
      body()
      return Disposables.create { log.add(.disposedReturned(plan.id)) }
    }
  }

  func difference(from model: Model) -> String? {
    let events = log.entries
    if events != model.events {
      let common = zip(events, model.events).prefix { $0 == $1 }.count
      return "event \(common) is \(events.dropFirst(common).prefix(3)), not \(model.events.dropFirst(common).prefix(3))"
    }
    if virtualTime != model.now { return "the clock is at \(virtualTime), not \(model.now)" }
    let pending = scheduler.read()?.pendingCount ?? 0
    if pending != model.pendingCount { return "\(pending) wait, not \(model.pendingCount)" }
    return held.count == model.heldCount ? nil : "\(held.count) captures are alive, not \(model.heldCount)"
  }

  /// Waiting actions are released with the scheduler.
  func differenceAtEnd() -> String? {
    scheduler.write(nil)
    return held.count == 0 ? nil : "\(held.count) captures outlive the scheduler"
  }
}

/// Counts the captures that are alive.
private final class Held: Sendable {
  private let alive = Atomic(0)
  var count: Int { alive.load(ordering: .relaxed) }

  final class Capture: Sendable {
    private let held: Held
    init(_ held: Held) {
      self.held = held
      held.alive.wrappingAdd(1, ordering: .relaxed)
    }
    deinit { held.alive.wrappingSubtract(1, ordering: .relaxed) }
  }
}
