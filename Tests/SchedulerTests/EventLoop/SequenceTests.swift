import Foundation
import Scheduler
import TestSupport
import Testing

/// Guarantees of the sequences for `for await`: cancellation, and what happens to elements that come faster than they
/// are read.
@Suite(.nothingIsLeft, .serialized) struct SequenceTests {
  /// A sequence of an event loop.
  struct Kind: Sendable, CustomTestStringConvertible {
    let name: String
    /// Makes an iterator's `next`, without the element.
    let make: @Sendable (ThreadScheduler, Ends) -> @Sendable () async throws -> Bool
    var testDescription: String { name }

    private static func of<Elements: AsyncSequence & Sendable>(
      _ name: String, _ elements: @escaping @Sendable (ThreadScheduler, Ends) -> Elements
    ) -> Kind where Elements.Element: Sendable {
      Kind(name: name) { thread, ends in
        let elements = elements(thread, ends)
        return {
          for try await _ in elements { return true }
          return false
        }
      }
    }

    static let all: [Kind] = [
      of("ticks") { thread, _ in thread.ticks(every: .seconds(1_000)) },
      of("readable") { thread, ends in thread.readable(ends.reading) },
      of("signals") { thread, _ in thread.signals(OwnSignal.sequences) },
      of("changes") { thread, _ in thread.changes(ofFileAt: "/") },
      of("exits") { thread, _ in thread.exits(of: getpid()) },
      of("values of a merging event") { _, _ in MergingEvent.sequence(.sum).values },
    ]
  }

  @Test("cancellation ends a sequence at once, also while the scheduler's thread is busy", arguments: Kind.all)
  func cancelled(_ kind: Kind) async throws {
    let thread = try ThreadScheduler(name: "sequences"), ends = Ends()
    for round in 0..<Scale.count(20) {
      let release = Gate(), begun = Gate()
      let next = kind.make(thread, ends)
      let task = Task { try await next() }
      if round % 2 == 0 { try await thread.perform {} }  // the task waits, mostly
      thread.schedule {
        begun.open()
        release.wait()
      }
      synchronously { _ = begun.wait() }
      task.cancel()
      #expect(try await task.value == false)  // while the thread is busy
      release.open()
    }
    await thread.stopAndJoin()
  }

  @Test("a sequence whose task was cancelled before has no element", arguments: Kind.all)
  func cancelledBefore(_ kind: Kind) async throws {
    let thread = try ThreadScheduler(name: "sequences"), ends = Ends()
    ends.say()
    let next = kind.make(thread, ends), mayBegin = Gate()
    let task = Task {
      synchronously { _ = mayBegin.wait() }
      return try await next()
    }
    task.cancel()
    mayBegin.open()
    #expect(try await task.value == false)
    await thread.stopAndJoin()
  }

  @Test("signals that arrive between two reads are one element, the sum", .enabled(if: Scale.signalsAreExact))
  func signalsAreSummed() async throws {
    let thread = try ThreadScheduler(name: "signals"), count = Scale.count(20)
    var signals = thread.signals(OwnSignal.sums).makeAsyncIterator(), sum = 0, reads = 0
    for _ in 0..<count {
      try await thread.perform {}  // the source has begun, or has delivered the signal before
      kill(getpid(), OwnSignal.sums)  // a real-time signal: each is delivered
    }
    try await thread.perform {}
    while sum < count {
      sum += try #require(try await signals.next())
      reads += 1
    }
    #expect(sum == count && reads < count)  // the last ones may come while the first are read
    await thread.stopAndJoin()
  }

  @Test("unread changes beyond the capacity become one change of the kind lost", arguments: [0, 1, 2, 8, 1_024])
  func changesAreLost(_ capacity: Int) async throws {
    let thread = try ThreadScheduler(name: "changes"), folder = makeFolder(), count = 16
    var changes = thread.changes(ofFileAt: folder, kinds: .created, capacity: capacity).makeAsyncIterator()
    let arrived = Gate(), mayContinue = Gate(), all = Counter()
    let other = thread.onChange(ofFileAt: folder, kinds: .created) { change in
      if all.increment() == count + 1 { arrived.open() }
    }
    try await thread.perform {}
    // The loop is busy until all changes have happened. Then each of its polls reads one change of either source.
    thread.schedule { _ = mayContinue.wait() }
    for n in 0..<count { mkdir("\(folder)/\(n)", 0o700) }
    mkdir("\(folder)/last", 0o700)
    mayContinue.open()
    synchronously { _ = arrived.wait() }
    for _ in 0..<2 { try await thread.perform {} }
    let stored = min(max(1, capacity), count + 1)
    for n in 0..<stored {
      let change = try #require(try await changes.next())
      let isLost = n == stored - 1 && stored <= count
      #expect(change.kinds == (isLost ? .lost : .created))
      #expect(change.name == (isLost ? nil : n == count ? "last" : "\(n)"))
    }
    other.dispose()
    for n in 0..<count { rmdir("\(folder)/\(n)") }
    rmdir("\(folder)/last")
    rmdir(folder)
    await thread.stopAndJoin()
  }

  @Test("the last change reports the file's deletion, also when the buffer is full")
  func goneIsKept() async throws {
    let thread = try ThreadScheduler(name: "changes"), folder = makeFolder(), isGone = Gate(), mayContinue = Gate()
    var changes = thread.changes(ofFileAt: folder, capacity: 1).makeAsyncIterator()
    let other = thread.onChange(ofFileAt: folder) { change in if change.kinds.contains(.gone) { isGone.open() } }
    try await thread.perform {}
    thread.schedule { _ = mayContinue.wait() }  // each poll reads one change of either source, as above
    mkdir("\(folder)/inside", 0o700)
    rmdir("\(folder)/inside")
    rmdir(folder)
    mayContinue.open()
    synchronously { _ = isGone.wait() }
    for _ in 0..<2 { try await thread.perform {} }
    let change = try #require(try await changes.next())
    #expect(change.kinds == [.lost, .gone] && change.name == nil)
    other.dispose()
    await thread.stopAndJoin()
  }
}
