import Bridges
import InMemoryTracing
import Scheduler
import SchedulerRx
import ServiceContextModule
import Testing
import Tracing

private enum UserKey: ServiceContextKey { typealias Value = String }

extension ServiceContext {
  fileprivate var user: String? {
    get { self[UserKey.self] }
    set { self[UserKey.self] = newValue }
  }
}

/// Calls `body` in a context with that user.
private func with<Result>(_ user: String, _ body: () throws -> Result) rethrows -> Result {
  var context = ServiceContext.topLevel
  context.user = user
  return try ServiceContext.withValue(context, operation: body)
}

/// The users that actions have seen, in order.
private final class Seen: Sendable {
  private let list = Protected<[String]>([])
  var all: [String] { list.read() }
  func note() { list.withLock { $0.append(ServiceContext.current?.user ?? "nobody") } }
}

extension FinishedInMemorySpan {
  fileprivate var outcome: SpanAttribute? { attributes.get("scheduler.outcome") }

  fileprivate var queueTime: Double? {
    guard case .double(let time) = attributes.get("scheduler.queue_time_ms") else { return nil }
    return time
  }
}

@Suite struct TracingTests {
  @Test("an action on another thread sees its caller's context, and its neighbours do not") func carried() throws {
    let tracer = InMemoryTracer(), seen = Seen()
    let thread = try ThreadScheduler(name: "carrying"), traced = thread.traced(by: tracer)
    with("alice") {
      thread.schedule { seen.note() }  // plain: the library knows nothing of task locals
      traced.schedule { seen.note() }
      thread.schedule { seen.note() }
      with("bob") { _ = traced.schedule { seen.note() } }
      traced.schedule { seen.note() }
    }
    traced.schedule { seen.note() }
    finish(thread)
    #expect(seen.all == ["nobody", "alice", "nobody", "bob", "alice", "nobody"])
    #expect(ServiceContext.current == nil)
  }

  @Test("many callers at once: each action sees its own") func many() {
    let tracer = InMemoryTracer(), workers = ConcurrentScheduler().traced(by: tracer)
    let wrong = Protected(0), done = ActionGroup(entered: 8 * 500)
    let callers = (0..<8).map { number in
      try! ThreadScheduler(name: "caller \(number)")
    }
    for caller in callers {
      caller.schedule {
        for round in 0..<500 {
          let user = "\(caller.name), \(round)"
          with(user) {
            _ = workers.schedule {
              if ServiceContext.current?.user != user { wrong.withLock { $0 += 1 } }
              done.leave()
            }
          }
        }
      }
    }
    #expect(done.wait(for: .seconds(30)))
    for caller in callers { finish(caller) }
    #expect(wrong.read() == 0)
    #expect(eventually { tracer.finishedSpans.count == 8 * 500 } && tracer.activeSpans.isEmpty)
  }

  @Test("a context of none is carried, too: an action that runs in the middle of other code does not see that one's")
  func none() {
    let tracer = InMemoryTracer(), seen = Seen(), time = TestScheduler()
    time.schedule { seen.note() }
    time.traced(by: tracer).schedule { seen.note() }
    with("alice") { time.advance() }
    #expect(seen.all == ["alice", "nobody"])
  }

  @Test("every way to schedule carries it", arguments: 0..<12) func ways(_ way: Int) throws {
    let tracer = InMemoryTracer(), seen = Seen(), done = ActionGroup(entered: 1)
    let thread = try ThreadScheduler(name: "ways"), traced = thread.traced("way \(way)", by: tracer)
    @Sendable func note() {
      seen.note()
      done.leave()
    }
    let soon = Duration.milliseconds(1)
    let scheduled = with("alice") { () -> any Disposable in
      switch way {
      case 0: traced.schedule(note)
      case 1: traced.schedule(1) { _ in (note(), AnyDisposable()).1 }
      case 2: traced.schedule(after: soon, note)
      case 3: traced.schedule(.after(soon, tolerance: soon), note)
      case 4: traced.schedule(1, after: soon) { _ in (note(), AnyDisposable()).1 }
      case 5: traced.schedule(.at(.now.advanced(by: soon)), note)
      case 6: traced.schedule(.at(wall: WallTime.now.advanced(by: soon), tolerance: .zero), note)
      case 7: traced.schedule(.at(continuous: ContinuousClock.now.advanced(by: soon), tolerance: .zero), note)
      case 8: traced.schedule { (_: ActionContext) in note() }
      case 9: traced.schedule(note, onDrop: { _ in })
      case 10: traced.scheduleRecursive { (_: @escaping @Sendable () -> Void) in note() }
      default: traced.wrapping { $0() }.schedule(note)
      }
    }
    done.wait()
    finish(thread)
    #expect(seen.all == ["alice"] && scheduled.isDisposed)
    let span = try #require(tracer.finishedSpans.first)
    #expect(tracer.finishedSpans.count == 1 && tracer.activeSpans.isEmpty)
    #expect(span.operationName == "way \(way)" && span.attributes.get("scheduler.name") == "ways")
    #expect(span.outcome == "run" && span.queueTime ?? -1 >= 0)
  }

  @Test("a span is its caller's child, and says how long the action has waited") func queueTime() throws {
    let tracer = InMemoryTracer(), thread = try ThreadScheduler(name: "busy"), hold = ActionGroup(entered: 1)
    let traced = thread.traced("work", by: tracer)
    tracer.withSpan("request") { _ in
      thread.schedule { hold.wait() }
      traced.schedule { tracer.withSpan("inside") { _ in } }
      traced.schedule(after: .seconds(-1)) {}
      _ = CountingSemaphore().wait(for: .milliseconds(20))
    }
    hold.leave()
    finish(thread)
    let spans = tracer.finishedSpans, request = try #require(spans.first { $0.operationName == "request" })
    let works = spans.filter { $0.operationName == "work" }
    try #require(works.count == 2)
    #expect(works.allSatisfy { $0.parentSpanID == request.spanID && $0.queueTime ?? 0 >= 20 })
    #expect(works.allSatisfy { $0.outcome == "run" && $0.status == nil })
    #expect(spans.first { $0.operationName == "inside" }?.parentSpanID == works[0].spanID)
  }

  @Test("the queue time of what is delayed begins at its deadline") func delayed() throws {
    let tracer = InMemoryTracer(), thread = try ThreadScheduler(name: "late"), traced = thread.traced(by: tracer)
    let done = ActionGroup(entered: 2)
    traced.schedule(.after(.milliseconds(300), tolerance: .zero)) { done.leave() }
    traced.schedule(.at(wall: WallTime.now.advanced(by: .milliseconds(300)), tolerance: .zero)) { done.leave() }
    done.wait()
    finish(thread)
    for span in tracer.finishedSpans {
      let whole = Double(span.endInstant.nanosecondsSinceEpoch - span.startInstant.nanosecondsSinceEpoch) / 1e6
      #expect(try #require(span.queueTime) <= whole - 100)
    }
  }

  @Test("a disposed action's span ends with the disposal, and says so; it has one end") func cancelled() throws {
    let tracer = InMemoryTracer(), thread = try ThreadScheduler(name: "cancelling")
    let traced = thread.traced(by: tracer), hold = ActionGroup(entered: 1), seen = Seen()
    thread.schedule { hold.wait() }
    let actions = [
      traced.schedule { seen.note() }, traced.schedule(after: .seconds(3_600)) { seen.note() },
      traced.schedule(1) { _ in
        seen.note()
        return AnyDisposable()
      },
    ]
    #expect(tracer.activeSpans.count == 3 && tracer.finishedSpans.isEmpty)
    for action in actions { action.dispose() }
    #expect(tracer.activeSpans.isEmpty)
    #expect(actions.allSatisfy { $0.isDisposed })
    hold.leave()
    for action in actions { action.disposeAndWait() }
    finish(thread)
    let spans = tracer.finishedSpans
    #expect(spans.count == 3 && spans.allSatisfy { $0.outcome == "cancelled" && $0.queueTime == nil })
    #expect(spans.allSatisfy { $0.status == nil })
    #expect(seen.all.isEmpty)
  }

  @Test("a dropped action's span is an error, whether it was refused or given up by a stop") func dropped() throws {
    let tracer = InMemoryTracer(), thread = try ThreadScheduler(name: "dropping")
    let traced = thread.traced(by: tracer)
    let later = traced.schedule(after: .seconds(3_600)) {}
    finish(thread)
    #expect(later.isDisposed)
    traced.schedule {}
    let spans = tracer.finishedSpans
    #expect(spans.count == 2 && spans.allSatisfy { $0.outcome == "dropped" && $0.status?.code == .error })
    #expect(tracer.activeSpans.isEmpty)
  }

  @Test("a disposal that races the run: the span has one end, which says what happened") func races() throws {
    let tracer = InMemoryTracer(), thread = try ThreadScheduler(name: "racing"), traced = thread.traced(by: tracer)
    let rounds = 2_000, runs = Protected(0)
    for _ in 0..<rounds {
      let action = traced.schedule { runs.withLock { $0 += 1 } }
      if Bool.random() { _ = MonotonicTime.now }
      action.disposeAndWait()
    }
    finish(thread)
    let spans = tracer.finishedSpans
    #expect(spans.count == rounds && tracer.activeSpans.isEmpty)
    #expect(spans.count { $0.outcome == "run" } == runs.read())
    #expect(spans.count { $0.outcome == "cancelled" } == rounds - runs.read())
  }

  @Test("each tick of a periodic action has a span, in the context of its submission; none after the disposal")
  func periodic() {
    let tracer = InMemoryTracer(), time = TestScheduler(), seen = Seen()
    let ticks = with("alice") {
      time.traced("tick", by: tracer).schedule(.every(.seconds(1))) { seen.note() }
    }
    #expect(tracer.activeSpans.isEmpty)
    with("bob") { time.advance(by: .seconds(3)) }
    #expect(seen.all == ["alice", "alice", "alice"])
    #expect(tracer.finishedSpans.count == 3)
    ticks.dispose()
    time.advance(by: .seconds(3))
    #expect(tracer.finishedSpans.count == 3 && tracer.activeSpans.isEmpty)
  }

  @Test("each step of a recursion is a child of the one that asked for it") func recursive() throws {
    let tracer = InMemoryTracer(), thread = try ThreadScheduler(name: "steps"), seen = Seen()
    with("alice") {
      _ = thread.traced(by: tracer).scheduleRecursive(1) { number, again in
        seen.note()
        if number < 4 { again(number + 1) }
      }
    }
    #expect(eventually { seen.all.count == 4 })
    finish(thread)
    #expect(seen.all == ["alice", "alice", "alice", "alice"])
    let spans = tracer.finishedSpans
    #expect(spans.count == 4 && Set(spans.map(\.traceID)).count == 1)
    let inOrder = spans.sorted { $0.spanID < $1.spanID }  // span-1, span-2 …
    #expect(inOrder.map(\.parentSpanID) == [nil, "span-1", "span-2", "span-3"])
  }

  @Test("what waits does not keep the scheduler below") func kept() {
    weak var below: TestScheduler?
    do {
      let time = TestScheduler(), traced = time.traced(by: InMemoryTracer())
      below = time
      traced.schedule {}
      traced.schedule(after: .seconds(1)) {}
      traced.schedule(.every(.seconds(1), after: .seconds(1))) {}
    }
    #expect(below == nil)
  }
}
