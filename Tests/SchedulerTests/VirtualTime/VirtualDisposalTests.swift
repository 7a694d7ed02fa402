import Scheduler
import SchedulerRx
import TestSupport
import Testing

@Suite(.nothingIsLeft) struct VirtualDisposalTests {
  let scheduler = TestScheduler()

  @Test("dispose releases the captures before it returns, and the action never runs", arguments: [false, true])
  func disposeReleases(isMerged: Bool) {
    let ran = Counter()
    var tokens: [any Disposable] = []
    weak var first: Token?
    weak var second: Token?
    do {
      let one = Token(), two = Token()
      (first, second) = (one, two)
      tokens.append(
        scheduler.schedule(after: .seconds(5)) { [one] in
          ran.increment()
          _ = one
        })
      tokens.append(
        scheduler.schedule(.every(.seconds(5))) { [two] in
          ran.increment()
          _ = two
        })
    }
    if isMerged { scheduler.advance(by: .seconds(1)) }
    #expect(first != nil && second != nil)
    for token in tokens { token.dispose() }
    #expect(first == nil && second == nil)
    #expect(tokens.allSatisfy { $0.isDisposed })
    #expect(scheduler.pendingCount == 0)
    scheduler.advance(by: .seconds(100))
    #expect(ran.value == 0)
  }

  @Test("the captures of an action that has run are released, although its token is held")
  func runReleases() {
    weak var seen: Token?
    let token: any Disposable
    do {
      let capture = Token()
      seen = capture
      token = scheduler.schedule { [capture] in _ = capture }
    }
    scheduler.run()
    #expect(seen == nil)
    token.dispose()
  }

  @Test("disposing itself from inside disposes the disposable that the action then returns")
  func disposesItself() {
    let disposed = Counter(), token = SerialDisposable()
    token.disposable = scheduler.schedule(0) { _ in
      token.dispose()
      return Disposables.create { disposed.increment() }
    }
    scheduler.run()
    #expect(disposed.value == 1)
  }

  @Test("the end of captures, and the disposal of others by it, happen under no lock")
  func deinitIsOutside() {
    let ended = Counter()
    let token: any Disposable
    do {
      let notice = DeathNotice { [scheduler] in
        ended.increment()
        scheduler.schedule { ended.increment() }
        scheduler.advance(by: .seconds(1))
      }
      token = scheduler.schedule(after: .seconds(5)) { [notice] in _ = notice }
    }
    token.dispose()
    #expect(ended.value == 2)
  }

  @Test("a waiting action is released unrun with the scheduler, and its token is disposed")
  func schedulerGoes() {
    weak var seen: Token?
    let token: any Disposable
    do {
      let scheduler = TestScheduler(), capture = Token()
      seen = capture
      token = scheduler.schedule(after: .seconds(1)) { [capture] in _ = capture }
    }
    #expect(seen == nil)
    #expect(token.isDisposed)
    token.dispose()
  }

  @Test("a recursion ends with the scheduler, and does not keep it")
  func recursionGoes() {
    weak var seen: Token?
    let turns = Counter()
    let recursion: any Disposable
    do {
      let scheduler = TestScheduler(), capture = Token()
      seen = capture
      let body: @Sendable (Int, @escaping @Sendable (Int) -> Void) -> Void = { [capture] number, again in
        _ = capture
        turns.increment()
        again(number + 1)
      }
      recursion = scheduler.scheduleRecursive(0, action: body)
      scheduler.step(3)
      #expect(!recursion.isDisposed)
    }
    #expect(turns.value == 3)
    #expect(recursion.isDisposed)
    #expect(seen == nil)
  }

  @Test("300 000 actions that are scheduled and disposed leave no cancelled entries", arguments: [false, true])
  func cancelled(isInside: Bool) async {
    if isInside {
      await #expect(processExitsWith: .success) { checkCancelled(isInside: true) }
    } else {
      await #expect(processExitsWith: .success) { checkCancelled(isInside: false) }
    }
  }

  @Test("half of many in the heap are disposed, and the others run in order")
  func disposedInTheHeap() {
    let log = Log<Int>()
    let tokens = (0..<5_000).map { n in
      scheduler.schedule(after: .nanoseconds(5_000 - n)) { log.add(5_000 - n) }
    }
    scheduler.step()
    for (n, token) in tokens.enumerated() where n % 8 != 0 { token.dispose() }
    scheduler.run()
    #expect(log.entries == [1] + (2...5_000).filter { (5_000 - $0) % 8 == 0 })
  }

  @Test("a chain of actions that return each other's disposables stays flat, and its head disposes the last")  // Y1, Y2
  func chain() async {
    await #expect(processExitsWith: .success) {
      let before = residentKilobytes(), scheduler = TestScheduler(), left = Counter()
      @Sendable func hop(_ n: Int) -> any Disposable {
        guard n > 0 else { return Disposables.create { left.increment() } }
        return scheduler.schedule(n - 1, action: hop)
      }
      let head = scheduler.schedule(200_000, action: hop)
      scheduler.run()
      precondition(residentKilobytes() - before < 25_000, "the memory is not flat")
      head.dispose()
      precondition(left.value == 1, "the last one's disposable is not disposed")
    }
  }

  @Test("disposing the head of a chain in its middle ends it")
  func chainDisposed() {
    let hops = Counter(), head = SerialDisposable()
    @Sendable func hop(_ n: Int) -> any Disposable {
      if hops.increment() == 10 { head.dispose() }
      return scheduler.schedule(n + 1, after: .seconds(1), action: hop)
    }
    head.disposable = scheduler.schedule(0, action: hop)
    scheduler.run()
    #expect(hops.value == 10)
    #expect(scheduler.pendingCount == 0)
  }

  @Test("a chain retains nothing once its later action is over, however that ends", arguments: Ending.allCases)  // Y3
  func chainLetsGo(ending: Ending) {
    var scheduler: TestScheduler? = TestScheduler()
    weak var first: AnyObject?
    let later = SerialDisposable()
    do {
      let start = scheduler!.schedule(0) { [unowned scheduler] _ in
        later.disposable =
          switch ending {
          case .turn: scheduler!.schedule(.every(.seconds(1))) { later.dispose() }
          case .disposal, .scheduler: scheduler!.schedule(1, after: .seconds(1)) { _ in Disposables.create() }
          }
        return later.disposable!
      }
      first = start as AnyObject
      scheduler!.step()
    }
    #expect((first == nil) == (ending == .turn), "a periodic action keeps no token")
    switch ending {
    case .disposal: later.dispose()
    case .turn: scheduler!.advance(by: .seconds(1))
    case .scheduler: scheduler = nil
    }
    #expect(first == nil)
  }

  @Test("disposing the head of a chain on another thread disposes the last one's disposable once")
  func chainAgainstDisposal() {
    for _ in 0..<2_000 {
      let counter = DisposalCounter(), runs = Counter()
      let head = scheduler.schedule(0) { [scheduler] _ in
        scheduler.schedule(0) { _ in
          runs.increment()
          return counter
        }
      }
      onThreads(2) { $0 == 0 ? scheduler.run() : head.dispose() }
      #expect(counter.value == runs.value)
    }
  }

  enum Ending: CaseIterable {
    /// It is disposed while it waits, it disposes itself in its turn, or the scheduler goes.
    case disposal, turn, scheduler
  }
}

private func checkCancelled(isInside: Bool) {
  let before = residentKilobytes(), scheduler = TestScheduler(), ran = Counter()
  for n in 0..<100 { scheduler.schedule(after: .seconds(n)) { ran.increment() } }
  @Sendable func churn() {
    for n in 0..<300_000 { scheduler.schedule(after: .seconds(n % 100)) { ran.increment() }.dispose() }
    precondition(residentKilobytes() - before < 30_000, "cancelled entries have piled up")
  }
  if isInside { scheduler.schedule { churn() } } else { churn() }
  scheduler.run()
  precondition(ran.value == 100, "\(ran.value) ran")
}
