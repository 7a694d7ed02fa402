import Foundation
import Scheduler
import SchedulerRx
import SchedulerTesting
import TestSupport
import Testing

@Suite(.nothingIsLeft) struct VirtualRecordingTests {
  @Test("the history shows scheduled, run and disposed actions, with times and ordinals")
  func history() {
    let scheduler = TestScheduler(), recording = RecordingScheduler(scheduler), log = Log<String>()
    recording.schedule(after: .seconds(2)) {
      log.add("first")
      recording.schedule { log.add("nested") }
    }
    let token = recording.schedule(after: .seconds(3)) { log.add("never") }
    recording.schedule("state") {
      log.add($0)
      return Disposables.create()
    }
    scheduler.advance(by: .seconds(1))
    token.dispose()
    token.dispose()
    scheduler.run()
    #expect(log.entries == ["state", "first", "nested"])
    let zero = MonotonicTime(nanoseconds: 0), one = zero.advanced(by: .seconds(1)), two = zero.advanced(by: .seconds(2))
    #expect(
      recording.history == [
        RecordedEvent(kind: .scheduled, time: zero, ordinal: 1, delay: .seconds(2)),
        RecordedEvent(kind: .scheduled, time: zero, ordinal: 2, delay: .seconds(3)),
        RecordedEvent(kind: .scheduled, time: zero, ordinal: 3),
        RecordedEvent(kind: .ran, time: zero, ordinal: 3),
        RecordedEvent(kind: .disposed, time: one, ordinal: 2, delay: .seconds(3)),
        RecordedEvent(kind: .ran, time: two, ordinal: 1, delay: .seconds(2)),
        RecordedEvent(kind: .scheduled, time: two, ordinal: 4),
        RecordedEvent(kind: .ran, time: two, ordinal: 4),
      ])
    #expect(recording.history.first?.description == "#1 scheduled at 0 ns")
    #expect(recording.now == two)
  }

  @Test("disposing after the run disposes the action's returned disposable, and is no event")
  func disposedAfterRun() {
    let recording = RecordingScheduler(ImmediateScheduler.instance), disposed = Counter()
    recording.schedule(1) { _ in Disposables.create { disposed.increment() } }.dispose()
    #expect(disposed.value == 1)
    #expect(recording.history.map(\.kind) == [.scheduled, .ran])
    #expect(recording.history.map(\.ordinal) == [1, 1])
  }

  @Test("a cleared history continues with the next ordinal")
  func clear() {
    let recording = RecordingScheduler(CurrentThreadScheduler.instance)
    recording.schedule {}
    recording.clearHistory()
    #expect(recording.history.isEmpty)
    recording.schedule {}
    #expect(recording.history.map(\.ordinal) == [2, 2])
  }

  @Test("dispose releases the captures before it returns, through the recorder too")
  func disposeReleases() {
    let scheduler = TestScheduler(), recording = RecordingScheduler(scheduler)
    weak var seen: Token?
    let token: any Disposable
    do {
      let capture = Token()
      seen = capture
      token = recording.schedule(after: .seconds(1)) { [capture] in _ = capture }
    }
    token.dispose()
    #expect(seen == nil)
    scheduler.run()
    #expect(recording.history.map(\.kind) == [.scheduled, .disposed])
  }

  @Test("a recorder with pending work keeps neither itself nor the scheduler")
  func noCycle() {
    weak var seen: TestScheduler?
    weak var seenRecorder: RecordingScheduler<TestScheduler>?
    do {
      let scheduler = TestScheduler(), recording = RecordingScheduler(scheduler)
      recording.schedule(after: .seconds(1)) {}
      (seen, seenRecorder) = (scheduler, recording)
    }
    #expect(seen == nil && seenRecorder == nil)
  }

  @Test("many threads record on a thread's scheduler, and each action is scheduled before it runs, once")
  func threads() throws {
    let thread = try ThreadScheduler(name: "recorded"), recording = RecordingScheduler(thread)
    onThreads(4) { _ in
      for _ in 0..<200 { recording.schedule {} }
    }
    thread.stop()
    thread.join()
    let history = recording.history
    #expect(history.count == 1_600)
    #expect(Set(history.map(\.ordinal)) == Set(1...800))
    let ran = history.indices.filter { history[$0].kind == .ran }
    let scheduled = Dictionary(
      uniqueKeysWithValues: history.indices.filter { history[$0].kind == .scheduled }.map { (history[$0].ordinal, $0) })
    #expect(Set(ran.map { history[$0].ordinal }).count == 800)
    #expect(ran.allSatisfy { scheduled[history[$0].ordinal]! < $0 })
  }

  @Test("a disposal that races the beginning is written down if the action never begins, and only then")
  func races() throws {
    let thread = try ThreadScheduler(name: "recorded"), recording = RecordingScheduler(thread)
    let began = Protected<Set<Int>>([]), tokens = Protected<[any Disposable]>([]), count = Int(Scale.count(4_000))
    let disposer = Gate(), isOver = BooleanDisposable()
    Thread.detachNewThread {
      while !isOver.isDisposed || !tokens.read(\.isEmpty) {
        for token in tokens.exchange([]) { token.dispose() }
      }
      disposer.open()
    }
    for n in 1...count {
      tokens.append(
        n % 2 == 0
          ? recording.schedule { began.withLock { _ = $0.insert(n) } }
          : recording.schedule(0) { _ in
            began.withLock { _ = $0.insert(n) }
            return Disposables.create()
          })
    }
    thread.drain()
    isOver.dispose()
    disposer.wait()
    let history = recording.history
    let ran = history.filter { $0.kind == .ran }.map(\.ordinal),
      disposed = history.filter { $0.kind == .disposed }.map(\.ordinal)
    #expect(Set(ran) == began.read() && Set(ran).count == ran.count)
    #expect(Set(disposed).isDisjoint(with: began.read()) && disposed.count + ran.count == count)
  }

  @Test("disposing in the middle of the run, from inside and outside, is no event") func disposedInRun() throws {
    let thread = try ThreadScheduler(name: "recorded"), recording = RecordingScheduler(thread)
    let entered = Gate(), leave = Gate(), token = SingleAssignmentDisposable(), child = BooleanDisposable()
    token.setDisposable(
      recording.schedule(0) { _ in
        entered.open()
        leave.wait()
        token.dispose()
        return child
      })
    entered.wait()
    token.dispose()
    leave.open()
    thread.drain()
    #expect(recording.history.map(\.kind) == [.scheduled, .ran])
    #expect(eventually { child.isDisposed })
  }

  @Test("an action that was disposed by then is not called, even if its scheduler calls it") func lateCall() {
    final class Stubborn: ImmediateSchedulerType {
      let works = Protected<[@Sendable () -> Void]>([])
      func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
        works.append(action)
        return Disposables.create()
      }
    }
    let stubborn = Stubborn(), recording = RecordingScheduler(stubborn), ran = Counter()
    recording.schedule { ran.increment() }.dispose()
    for work in stubborn.works.exchange([]) { work() }
    #expect(ran.value == 0)
    #expect(recording.history.map(\.kind) == [.scheduled, .disposed])
  }
}
