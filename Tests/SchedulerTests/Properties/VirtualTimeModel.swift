/// Virtual time as a list that is kept in order: the documented behaviour, in the simplest way.
struct VirtualTimeModel {
  /// An operation of a test from outside, or of an action when it runs. Times are nanoseconds.
  indirect enum Operation {
    case schedule(Plan, after: Int)
    case scheduleAt(Plan, time: Int)
    case scheduleRepeating(Plan, after: Int, period: Int)
    case dispose(Int)
    case advance(by: Int)
    case advanceTo(Int)
    case step(Int)
    case run
    case stop
    case sleep(by: Int)
  }

  /// An action: by which name it is disposed, whether it returns a disposable, and what it does.
  struct Plan {
    let id: Int
    var returns = false
    var body: [Operation] = []
  }

  enum Event: Equatable, Sendable {
    case ran(Int, at: Int)
    case disposedReturned(Int)
  }

  /// What one call of schedule made.
  private final class Action {
    let plan: Plan
    let period: Int?
    var due = 0  // of a repeating one: a point of its grid
    var isWaiting = true
    var isDisposed = false
    var hasReturned = false
    var hasTicked = false
    init(_ plan: Plan, period: Int?) { (self.plan, self.period) = (plan, period) }
  }

  private(set) var now = 0
  private(set) var events: [Event] = []
  private var waiting: [(time: Int, action: Action)] = []  // in order
  private var tokens: [Int: Action] = [:]  // the last one of each name
  private var running = 0

  // The current drive.
  private var isDriving = false
  private var target: Int?
  private var runsAll = false
  private var steps = 0

  var pendingCount: Int { waiting.count }
  /// How many closures are held, and so captures alive, outside of a run.
  var heldCount: Int { waiting.count }

  mutating func perform(_ operation: Operation) {
    switch operation {
    case .schedule(let plan, let delay): submit(Action(plan, period: nil), at: now + max(0, delay))
    case .scheduleAt(let plan, let time): submit(Action(plan, period: nil), at: time)
    case .scheduleRepeating(let plan, let delay, let period):
      submit(Action(plan, period: period), at: now + max(0, delay))
    case .dispose(let id): dispose(id)
    case .advance(let span): drive { $0.target = max($0.target ?? .min, $0.now + span) }
    case .advanceTo(let time): drive { $0.target = max($0.target ?? .min, time) }
    case .step(let count):
      if count > 0 { drive { $0.steps += count } }
    case .run: drive { $0.runsAll = true }
    case .stop: (target, runsAll, steps) = (nil, false, 0)
    case .sleep(let span): now = max(now, now + span)
    }
  }

  private mutating func submit(_ action: Action, at time: Int) {
    tokens[action.plan.id] = action
    action.due = max(time, now)
    insert(action, at: action.due)
  }

  private mutating func insert(_ action: Action, at time: Int) {
    let place = waiting.firstIndex { $0.time > time } ?? waiting.endIndex  // behind its equals
    waiting.insert((time, action), at: place)
    action.isWaiting = true
  }

  private mutating func dispose(_ id: Int) {
    guard let action = tokens[id], !action.isDisposed else { return }
    action.isDisposed = true
    waiting.removeAll { $0.action === action }
    if action.hasReturned { events.append(.disposedReturned(id)) }
  }

  private mutating func drive(_ request: (inout Self) -> Void) {
    request(&self)
    guard !isDriving else { return }  // the outer drive does it
    isDriving = true
    while let next = waiting.first, isReached(next.time) {
      waiting.removeFirst()
      steps = max(0, steps - 1)
      now = max(now, next.time)
      run(next.action)
    }
    if let target { now = max(now, target) }
    (isDriving, target, runsAll, steps) = (false, nil, false, 0)
  }

  private func isReached(_ time: Int) -> Bool {
    if let target, time <= target { return true }
    let isDriven = steps > 0 || (runsAll && waiting.contains { !$0.action.hasTicked })
    return isDriven || (target != nil && time <= now)
  }

  private mutating func run(_ action: Action) {
    events.append(.ran(action.plan.id, at: now))
    for operation in action.plan.body { perform(operation) }
    if let period = action.period {
      action.hasTicked = true
      guard period > 0, !action.isDisposed else { return }
      action.due += ((now - action.due) / period + 1) * period  // one replaces those that were missed
      insert(action, at: action.due)
    } else if action.plan.returns {
      action.hasReturned = true
      if action.isDisposed { events.append(.disposedReturned(action.plan.id)) }
    }
  }
}
