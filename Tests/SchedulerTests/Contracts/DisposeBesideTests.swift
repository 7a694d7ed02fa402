import Foundation
import Scheduler
import SchedulerRx
import TestSupport
import Testing

/// Something whose release another thread can hold up.
private final class Held: Sendable {
  let isReleasing = Gate(), leave = Gate(), ends = Counter()

  /// A capture, whose `deinit` waits for `leave`.
  func makeWitness() -> Witness { Witness(self) }

  final class Witness: Sendable {
    private let held: Held
    init(_ held: Held) { self.held = held }
    deinit {
      held.isReleasing.open()
      held.leave.wait()
      held.ends.increment()
    }
    func touch() {}
  }

  /// Calls `disposeAndWait` on another thread, and opens `leave` while that waits. Checks that it returns after the
  /// release of the captures.
  func expectWait(_ token: any Disposable) {
    let isWaiting = Gate(), isOver = Gate(), early = Counter()
    Thread.detachNewThread {
      isWaiting.open()
      token.disposeAndWait()
      if self.ends.value == 0 { early.increment() }
      isOver.open()
    }
    isWaiting.wait()
    usleep(2_000)  // lets a wait that is too short return
    leave.open()
    #expect(isOver.wait())
    #expect(early.value == 0)
  }
}

private enum Kind: CaseIterable, Sendable {
  case plain, delayed, periodic, ticking, pausable, recursive, group, result, context, delayedContext, childContext,
    returning, reporting

  /// Whether the action is due in a thousand seconds.
  var isLate: Bool { [.delayed, .periodic, .pausable, .delayedContext, .childContext].contains(self) }

  /// Has `scheduler` run `work`, soon or late.
  func schedule(on scheduler: any SchedulerType, _ work: @escaping @Sendable () -> Void) -> any Disposable {
    switch self {
    case .plain: scheduler.schedule(work)
    case .delayed: scheduler.schedule(after: .seconds(1_000), work)
    case .periodic: scheduler.schedule(.every(.seconds(1_000)), work)
    case .ticking: scheduler.schedule(.every(.seconds(1_000), after: .zero), work)
    case .pausable: scheduler.schedulePeriodic(.seconds(1_000)) { _ in work() }
    case .recursive: scheduler.scheduleRecursive { _ in work() }
    case .group: ActionGroup().schedule(on: scheduler, work)
    case .result: ResultGroup<Void>().schedule(on: scheduler, work)
    case .context: scheduler.schedule { context in if !context.isCancelled { work() } }
    case .delayedContext: scheduler.schedule(after: .seconds(1_000)) { context in if !context.isCancelled { work() } }
    case .childContext: Self.child(on: scheduler, work)
    case .returning:
      scheduler.schedule(0) { _ in
        work()
        return Disposables.create()
      }
    case .reporting: scheduler.schedule(work, onDrop: { _ in })
    }
  }

  /// Returns the context of an action that has ended, and has scheduled `work` through its context.
  private static func child(on scheduler: any SchedulerType, _ work: @escaping @Sendable () -> Void) -> any Disposable {
    ImmediateScheduler.instance.schedule { context in
      context.schedule(on: scheduler, after: .seconds(1_000)) { _ in work() }
    }
  }
}

/// Guarantee 4, while another thread disposes, and releases the captures.
@Suite(.serialized, .nothingIsLeft) struct DisposeBesideTests {
  @Test(
    "disposeAndWait beside a dispose of another thread returns when the captures are released",
    arguments: SchedulerUnderTest.queued, Kind.allCases)
  private func actions(_ test: SchedulerUnderTest, kind: Kind) throws {
    let scheduler = try test.make(), held = Held(), busy = Gate()
    // An action that could start during `make` would be released by it.
    guard test.isSerial || test.isVirtual || kind.isLate else { return }
    if !test.isVirtual, !kind.isLate { scheduler.schedule { busy.wait() } }
    func make() -> any Disposable {
      let witness = held.makeWitness()
      return kind.schedule(on: scheduler) { witness.touch() }
    }
    let token = make(), isDisposed = Gate()
    Thread.detachNewThread {
      token.dispose()
      isDisposed.open()
    }
    held.isReleasing.wait()  // on that thread
    held.expectWait(token)
    isDisposed.wait()
    busy.open()
  }

  @Test(
    "disposeAndWait of an action that disposes itself returns when the action has ended and its captures are released",
    arguments: SchedulerUnderTest.queued.filter { !$0.isVirtual },
    [Kind.plain, .ticking, .recursive, .group, .result, .context, .returning, .reporting])
  private func disposedInside(_ test: SchedulerUnderTest, kind: Kind) throws {
    let scheduler = try test.make(), held = Held(), own = SingleAssignmentDisposable(), isInside = Gate(),
      leave = Gate()
    func make() -> any Disposable {
      let witness = held.makeWitness()
      return kind.schedule(on: scheduler) {
        own.dispose()
        isInside.open()
        leave.wait()
        witness.touch()
      }
    }
    let busy = Gate()
    if test.isSerial { scheduler.schedule { busy.wait() } }
    let token = make()
    own.setDisposable(token)
    busy.open()
    isInside.wait()
    leave.open()
    held.expectWait(token)
  }

  @Test(
    "disposeAndWait beside a dispose of another thread returns when the captures of a source are released",
    arguments: SchedulerUnderTest.loops, SourceKind.allCases)
  func sources(_ test: SchedulerUnderTest, kind: SourceKind) throws {
    for isOnLoop in [false, true] { try source(kind, on: test, isOnLoop: isOnLoop) }
  }

  private func source(_ kind: SourceKind, on test: SchedulerUnderTest, isOnLoop: Bool) throws {
    let scheduler = try test.makeLoop(), stage = Stage(kind), held = Held()
    func make() -> any Disposable {
      let witness = held.makeWitness()
      return kind.begin(on: scheduler, stage, signal: OwnSignal.disposals) { witness.touch() }.source
    }
    let source = make(), isDisposed = Gate()
    if kind != .writable { scheduler.drain() }
    let dispose: @Sendable () -> Void = {
      source.dispose()
      isDisposed.open()
    }
    if isOnLoop { scheduler.schedule(dispose) } else { Thread.detachNewThread(dispose) }
    held.isReleasing.wait()
    held.expectWait(source)
    isDisposed.wait()
    scheduler.end()
    stage.leave()
  }

  @Test(
    "disposeAndWait of a context's handler, beside its removal or its call, returns when its captures are released",
    arguments: [false, true])
  func handlers(isCalled: Bool) throws {
    let held = Held(), context = Protected<ActionContext?>(nil), scheduler = try ThreadScheduler(), hasContext = Gate(),
      leave = Gate()
    let action = scheduler.schedule { own in
      context.write(own)
      hasContext.open()
      leave.wait()
    }
    hasContext.wait()
    func add() -> any Disposable {
      let witness = held.makeWitness()
      return context.read()!.onDispose { witness.touch() }
    }
    let handler = add(), isDisposed = Gate()
    Thread.detachNewThread {
      if isCalled { action.dispose() } else { handler.dispose() }
      isDisposed.open()
    }
    held.isReleasing.wait()
    held.expectWait(handler)
    isDisposed.wait()
    leave.open()
    context.write(nil)
    scheduler.stop()
    scheduler.join()
  }

  @Test("disposeAndWait of a drop observer, beside its dispose, returns when its captures are released")
  func observers() {
    let held = Held()
    func add() -> any Disposable {
      let witness = held.makeWitness()
      return Schedulers.onDrop { _, _ in witness.touch() }
    }
    let observer = add(), isDisposed = Gate()
    Thread.detachNewThread {
      observer.dispose()
      isDisposed.open()
    }
    held.isReleasing.wait()
    held.expectWait(observer)
    isDisposed.wait()
  }

  @Test("an asynchronous disposeAndWait beside a dispose returns when the captures are released")
  func asynchronous() async throws {
    let held = Held(), queue = SerialScheduler()
    func make() -> any Disposable {
      let witness = held.makeWitness()
      return queue.schedule(after: .seconds(1_000)) { _ in witness.touch() }
    }
    let token = make(), isDisposed = Gate()
    Thread.detachNewThread {
      token.dispose()
      isDisposed.open()
    }
    Thread.detachNewThread {
      held.isReleasing.wait()
      usleep(2_000)  // lets a wait that is too short return
      held.leave.open()
    }
    while !token.isDisposed { await Task.yield() }
    await token.disposeAndWait()
    #expect(held.ends.value == 1)
    try await queue.perform { _ = isDisposed.wait() }
  }
}
