import Foundation
import Scheduler
import TestSupport
import Testing

@Suite(.nothingIsLeft) struct GuardedTests {
  private struct Handle: ~Copyable {
    var uses = 0
    let closed: Counter
    deinit { closed.increment() }
  }

  private final class Unshared {
    var names: [String] = []
  }

  @Test("a value that cannot be copied is used by many threads, one at a time, and ends once") func noncopyable() {
    let closed = Counter()
    do {
      let guarded = Guarded(Handle(closed: closed))
      onThreads(4) { _ in for _ in 0..<1_000 { guarded.withLock { $0.uses += 1 } } }
      #expect(guarded.withLock { $0.uses } == 4_000)
      let old = guarded.exchange(Handle(uses: 7, closed: closed))
      #expect(old.uses == 4_000 && guarded.withLock { $0.uses } == 7)
      #expect(closed.value == 0)
    }
    #expect(eventually { closed.value == 2 })  // a thread may hold it for a moment longer
  }

  @Test("a value that is not Sendable is used by many threads, one at a time") func unshared() {
    let guarded = Guarded(Unshared())
    onThreads(4) { n in for _ in 0..<250 { guarded.withLock { $0.names.append("\(n)") } } }
    #expect(guarded.withLock { $0.names.count } == 1_000)
    let old = guarded.exchange(Unshared())
    #expect(old.names.count == 1_000 && guarded.withLock { $0.names.isEmpty })
  }

  @Test("the value is not available while locked, and an error is passed on") func available() {
    struct Wrong: Error {}
    let guarded = Guarded(Unshared())
    #expect(guarded.withLock { _ in guarded.withLockIfAvailable { $0.names.count } } == nil)
    #expect(throws: Wrong.self) { try guarded.withLock { _ in throw Wrong() } }
    #expect(guarded.withLockIfAvailable { $0.names.count } == 0)
  }
}
