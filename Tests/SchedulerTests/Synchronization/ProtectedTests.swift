import Foundation
import Scheduler
import TestSupport
import Testing

@Suite(.nothingIsLeft) struct ProtectedTests {
  struct Person: Equatable, Sendable {
    var name = "Ada"
    var scores: [Int] = []
    var shout: String { name.uppercased() }
  }

  // Unchecked, because a wrapped property is a `var` to the compiler, although nothing replaces the guard in it.
  final class Holder: @unchecked Sendable {
    @Protected var count = 0
    @Protected var names: [String] = []
    @Protected var data: Data?
    @Protected var person = Person()
    init() {}
    init(_ count: Int) { _count = Protected(wrappedValue: count) }
    var guards: (Protected<Int>, Protected<[String]>, Protected<Data?>, Protected<Person>) {
      ($count, $names, $data, $person)
    }
  }

  @Test("reads and writes, by closure and by value")
  func readsAndWrites() throws {
    let value = Protected(1)
    #expect(value.read() == 1)
    #expect(value.read { $0 + 1 } == 2)
    value.write(5)
    value.write { $0 += 1 }
    #expect(value.withLock { $0 } == 6)
    #expect(value.exchange(7) == 6)
    #expect(value.wrappedValue == 7)
    struct Refusal: Error {}
    #expect(throws: Refusal.self) { try value.withLock { _ throws(Refusal) in throw Refusal() } }
    #expect(value.withLock { $0 } == 7, "the lock was given back by the throw")
  }

  @Test("x += 1 through the wrapper loses no update")
  func incrementIsAtomic() {
    let holder = Holder()
    onThreads(8) { _ in
      for _ in 0..<5_000 { holder.count += 1 }
    }
    #expect(holder.count == 40_000)
  }

  @Test("a dynamic member is read and changed in place, each in one critical section")
  func dynamicMember() {
    let holder = Holder()
    let person = holder.guards.3
    person.name = "Grace"
    #expect(person.name == "Grace")
    #expect(person.shout == "GRACE")
    onThreads(4) { _ in
      for n in 0..<1_000 { person.scores.append(n) }
    }
    #expect(person.scores.count == 4_000)
    #expect(person.scores.reduce(0, +) == 4 * 499_500)
  }

  @Test("append reaches collections, and Data that is not there yet")
  func appends() {
    let holder = Holder()
    let (_, names, data, _) = holder.guards
    names.append("a")
    names.append(contentsOf: ["b", "c"])
    #expect(holder.names == ["a", "b", "c"])
    #expect(holder.data == nil)
    data.append(Data([1]))
    data.append(Data([2, 3]))
    data.append(contentsOf: [4, 5] as [UInt8])
    #expect(holder.data == Data([1, 2, 3, 4, 5]))
    let text = Protected("ab")
    text.append("c")
    #expect(text.read() == "abc")
  }

  @Test("x == x does not deadlock, nor does a == b beside b == a")
  func comparisonNeverDeadlocks() {
    let a = Protected([1, 2, 3]), b = Protected([1, 2, 3])
    #expect(a == a)
    #expect(a == b)
    onThreads(4) { index in
      for _ in 0..<5_000 { _ = index % 2 == 0 ? a == b : b == a }
    }
    #expect((a as Any) as? AnyHashable == nil, "it changes, so it is no member of a set")
    let holder = Holder(3), other = Holder(3)
    #expect(holder.count == holder.count && holder.count == other.count)
  }

  @Test("a transition happens only from where it is allowed, once among many threads")
  func transition() {
    let state = Protected(0), winners = Counter()
    onThreads(8) { index in
      if state.transition(to: index + 1, if: { $0 == 0 }) { winners.increment() }
    }
    #expect(winners.value == 1)
    #expect(state.read() != 0)
  }

  @Test("withLockIfAvailable does not wait")
  func tryLock() {
    let value = Protected(1), inside = Gate(), done = Gate()
    Thread.detachNewThread {
      value.withLock { _ in
        inside.open()
        done.wait()
      }
      inside.open()
    }
    inside.wait()
    #expect(value.withLockIfAvailable { $0 } == nil)
    done.open()
    inside.wait()
    #expect(value.withLockIfAvailable { $0 } == 1)
  }

  @Test("touching the value from inside its own section stops the process, and says why")
  func relock() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let value = Protected(1)
      value.withLock { _ in _ = value.read() }
    }
    expectMessage(result, "UnfairLock or Protected, csched_lock_lock", "not recursive")
  }

  @Test("a value with a reference is released with the guard")
  func lifetime() {
    weak var seen: Token?
    do {
      let token = Token()
      seen = token
      let guardian = Protected(token)
      #expect(guardian.read() === token)
    }
    #expect(seen == nil)
  }
}
