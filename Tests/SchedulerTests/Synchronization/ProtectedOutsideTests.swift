import Foundation
import Scheduler
import SchedulerRx
import Synchronization
import TestSupport
import Testing

/// Looks into the guard when it ends, is compared, hashed, described or iterated: under the guard's lock that would
/// stop the process.
private final class Nosy: Hashable, Sendable, CustomStringConvertible {
  let look: @Sendable () -> Void
  init(_ look: @escaping @Sendable () -> Void) { self.look = look }
  deinit { look() }
  static func == (left: Nosy, right: Nosy) -> Bool {
    left.look()
    return left === right
  }
  func hash(into hasher: inout Hasher) {
    look()
    hasher.combine(ObjectIdentifier(self))
  }
  var description: String {
    look()
    return "nosy"
  }
}

private struct Holder: Hashable, Sendable {
  var nosy: Nosy?
  var list: [Nosy] = []
  var inner = Inner()
  var computed: Nosy? {
    get { nosy }
    set { nosy = newValue }
  }
  struct Inner: Hashable, Sendable { var nosy: Nosy? }
}

private final class Box: @unchecked Sendable {  // Unchecked: the guard's lock guards it.
  var nosy: Nosy?
  var inner = Holder.Inner()
  let constant = 7
  private(set) var low = 0, high = 0
  var pair: (Int, Int) {
    let first = low
    takeTime()
    return (first, high)
  }
  var words: (Int, Int, Int, Int) = (0, 0, 0, 0)
  func raise() {
    low += 1
    takeTime()
    high += 1
  }
}

/// Its accessors look whether the guard's lock is taken.
private final class WatchedObject: @unchecked Sendable {  // Unchecked: the guard's lock guards it.
  var isLocked: @Sendable () -> Bool = { false }
  var wasLockedInSetter = false
  var readOnly: Bool { isLocked() }
  var writable: Bool {
    get { isLocked() }
    set { wasLockedInSetter = isLocked() }
  }
}

/// The same as a value.
private struct WatchedValue: Sendable {
  var isLocked: @Sendable () -> Bool = { false }
  var wasLockedInSetter = false
  var readOnly: Bool { isLocked() }
  var writable: Bool {
    get { isLocked() }
    set { wasLockedInSetter = isLocked() }
  }
}

/// Takes an instant, so that unsynchronized accesses overlap.
@inline(never) private func takeTime() { _ = MonotonicTime.now }

/// Reads the guarded value in each call of `next`.
private struct NosySequence: Sequence, IteratorProtocol {
  var left = 3
  let look: @Sendable () -> Void
  mutating func next() -> Int? {
    look()
    left -= 1
    return left < 0 ? nil : left
  }
}

/// Guarantee 5, for the guard: user code runs outside of its lock, but for what has access to the value in its place.
@Suite(.nothingIsLeft) struct ProtectedOutsideTests {
  @Test("a replaced value ends outside of the lock, for each kind of assignment") func replaced() {
    let guardian = Protected(Holder()), looks = Counter()
    let nosy: () -> Nosy = {
      Nosy { [unowned guardian] in
        guardian.read { _ in }
        looks.increment()
      }
    }
    var expected = 0
    let ways: [(String, () -> Void)] = [
      ("write", { guardian.write(Holder()) }), ("exchange", { _ = guardian.exchange(Holder()) }),
      ("wrappedValue", { guardian.wrappedValue = Holder() }), ("a stored member", { guardian.nosy = nil }),
      ("a computed member", { guardian.computed = nil }),
      ("transition", { _ = guardian.transition(to: Holder()) { _ in true } }),
      ("transition, refused", { _ = guardian.transition(to: Holder(nosy: nosy())) { _ in false } }),
      ("withLock, handed out", { _ = guardian.withLock { holder in holder.nosy.take() } }),
    ]
    for (name, way) in ways {
      guardian.write(Holder(nosy: nosy()))
      expected += name.hasSuffix("refused") ? 1 : 0
      way()
      expected += 1
      guardian.write(Holder())
      #expect(looks.value == expected, "\(name)")
    }
    guardian.list = [nosy(), nosy()]
    guardian.list = []
    #expect(looks.value == expected + 2)
  }

  @Test("a replaced value in an object ends outside of the lock") func replacedInObject() {
    let guardian = Protected(Box()), looks = Counter()
    let nosy: () -> Nosy = {
      Nosy { [unowned guardian] in
        guardian.read { _ in }
        looks.increment()
      }
    }
    guardian.nosy = nosy()
    guardian.nosy = nosy()
    #expect(looks.value == 1)
    guardian.inner = Holder.Inner(nosy: nosy())
    guardian.inner = Holder.Inner()
    #expect(looks.value == 2)
    guardian.nosy = nil
    #expect(looks.value == 3)
    #expect(guardian.constant == 7)
  }

  @Test("comparison, description and appended sequences run outside of the lock") func outside() {
    let looks = Counter()
    let guardian = Protected(Holder()), same = Protected(Holder()), numbers = Protected([Int]()),
      bytes = Protected<[Int]?>(nil)
    let nosy = Nosy { [unowned guardian] in
      guardian.read { _ in }
      looks.increment()
    }
    guardian.nosy = nosy
    same.nosy = nosy
    #expect(guardian == same && guardian.description.contains("nosy"))
    #expect(looks.value >= 2)
    numbers.append(contentsOf: NosySequence { [unowned numbers] in numbers.read { _ in } })
    bytes.append(contentsOf: NosySequence { [unowned bytes] in bytes.read { _ in } })
    bytes.append(contentsOf: NosySequence { [unowned bytes] in bytes.read { _ in } })
    #expect(numbers.read() == [2, 1, 0] && bytes.read() == [2, 1, 0, 2, 1, 0])
    (guardian.nosy, same.nosy) = (nil, nil)
  }

  // Unchecked, because a wrapped property is a `var` to the compiler, although nothing replaces the guard in it.
  private final class Wrapped: @unchecked Sendable {
    @Protected var count = 1
    @Protected var list = [0]
    func read() -> Int { count }
  }

  @Test("the right side of +=, and arguments, are evaluated before the lock is taken") func rightSide() {
    let wrapped = Wrapped()
    wrapped.count += wrapped.read()
    wrapped.count += { wrapped.count }()
    wrapped.list.append(wrapped.list.count)
    wrapped.list[wrapped.read() - 4] += wrapped.list.count
    wrapped.count = wrapped.count + 1
    #expect(wrapped.count == 5)
    #expect(wrapped.list == [2, 1])
    let guardian = Protected(Holder.Inner()), other = Protected((count: 1, list: [1]))
    other.count += other.count
    other.list.append(other.list.count + other.count)
    #expect(other.count == 2 && other.list == [1, 3])
    #expect(guardian.nosy == nil)
  }

  @Test("an object's property is read and set under the lock, a value's is read outside of it") func accessors() {
    let object = Protected(WatchedObject()), value = Protected(WatchedValue())
    object.withLock { $0.isLocked = { [unowned object] in object.withLockIfAvailable { _ in } == nil } }
    value.withLock { $0.isLocked = { [unowned value] in value.withLockIfAvailable { _ in } == nil } }
    #expect(object.readOnly && object.writable)
    #expect(!value.readOnly && !value.writable)
    object.writable = false
    value.writable = false
    #expect(object.withLock { $0.wasLockedInSetter } && value.withLock { $0.wasLockedInSetter })
  }

  @Test("a member of an object is read and changed under the lock, so it is never seen half changed") func torn() {
    let guardian = Protected(Box()), isOver = BooleanDisposable(), torn = Counter()
    let readers = Counter()
    onThreads(4) { index in
      if index == 0 {
        var n = 0
        while !isOver.isDisposed {
          n += 1
          guardian.withLock { $0.raise() }
          guardian.words = (n, n, n, n)
        }
      } else {
        for _ in 0..<Int(Scale.count(20_000)) {
          let (low, high) = guardian.pair, words = guardian.words
          if low != high || words.0 != words.3 || words.1 != words.2 { torn.increment() }
        }
        if readers.increment() == 3 { isOver.dispose() }
      }
    }
    #expect(torn.value == 0)
    guardian.words.0 = 0
    onThreads(4) { _ in
      for _ in 0..<1_000 { guardian.words.0 += 1 }
    }
    #expect(guardian.words.0 == 4_000)
  }
}
