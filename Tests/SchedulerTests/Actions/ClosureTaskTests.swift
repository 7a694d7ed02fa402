import Foundation
import Scheduler
import SchedulerRx
import TestSupport
import Testing

@Suite(.nothingIsLeft) struct ClosureTaskTests {
  @Test("a burst of actions is given back, and to dispose of them late touches nothing") func burst() async {
    await #expect(processExitsWith: .success) {
      let thread = try ThreadScheduler(), hold = Gate(), ran = Counter(), count = 300_000
      let step: @Sendable () -> Void = { ran.increment() }
      var tokens = [any Disposable](repeating: Disposables.create(), count: count)
      for i in tokens.indices { tokens[i] = thread.schedule {} }  // the array's own memory, and the thread's
      thread.drain()
      Schedulers.trim()
      let before = residentKilobytes()
      thread.schedule { hold.wait() }
      for i in tokens.indices { tokens[i] = thread.schedule(step) }
      let isMeasured = Scale.sanitizer == .none  // which has memory of its own for each byte
      precondition(!isMeasured || residentKilobytes() - before > 10_000, "there was no burst")
      for i in stride(from: 0, to: count, by: 2) { tokens[i].dispose() }
      hold.open()
      thread.drain()
      thread.stop()
      synchronously { thread.join() }  // it leaves what it kept
      Schedulers.trim()
      precondition(!isMeasured || residentKilobytes() - before < 4_000, "the memory was kept")
      let other = try ThreadScheduler(), second = Gate()
      other.schedule { second.wait() }
      let later = (0..<1_000).map { _ in other.schedule(step) }
      for token in tokens {
        precondition(token.isDisposed)
        token.dispose()
        synchronously { token.disposeAndWait() }
      }
      precondition(!later.contains { $0.isDisposed }, "one was disposed in the place of another")
      second.open()
      other.drain()
      precondition(ran.value == count / 2 + 1_000)
    }
  }

  @Test("copies of an action's disposable belong to the same action") func copies() throws {
    let thread = try ThreadScheduler(), hold = Gate(), ran = Counter()
    thread.schedule { hold.wait() }
    let token = thread.schedule { ran.increment() }, copy = token, other = thread.schedule { ran.increment() }
    copy.dispose()
    #expect(token.isDisposed && !other.isDisposed)
    token.dispose()
    hold.open()
    thread.drain()
    #expect(ran.value == 1 && other.isDisposed)
  }

  @Test("threads that end leave the memory of actions in order", arguments: [1, 200])
  func manyThreads(actions: Int) throws {
    let ran = Counter()
    for _ in 0..<50 {
      let thread = try ThreadScheduler()
      let tokens = (0..<actions).map { _ in thread.schedule { ran.increment() } }
      thread.stop(.runOutstanding)
      thread.join()
      #expect(tokens.allSatisfy { $0.isDisposed })
    }
    #expect(ran.value == 50 * actions)
  }
}
