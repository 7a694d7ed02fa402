import Foundation
import Scheduler
import SchedulerRx
import TestSupport
import Testing

@Suite(.nothingIsLeft) struct BlockingObservableTests {
  @Test("the operators return the source's elements, at once or later") func operators() throws {
    for source in [Source.just(1, 2, 3), .later(1, 2, 3)] {
      #expect(try source.toBlocking().toArray() == [1, 2, 3])
      #expect(try source.toBlocking().first() == 1)
      #expect(try source.toBlocking().last() == 3)
      #expect(thrown { try source.toBlocking().single() } as? SchedulerError == .moreThanOneElement)
      #expect(try source.toBlocking().single { $0 == 2 } == 2)
      #expect(source.disposals.value == 5)
    }
    for source in [Source.just(7), .later(7)] {
      #expect(try source.toBlocking(timeout: .seconds(200)).single() == 7)
      #expect(thrown { try source.toBlocking().single { $0 == 2 } } as? SchedulerError == .noElements)
    }
    for source in [Source<Int>.just(), .later()] {
      #expect(try source.toBlocking().toArray() == [])
      #expect(try source.toBlocking().first() == nil)
      #expect(try source.toBlocking().last() == nil)
      #expect(thrown { try source.toBlocking().single() } as? SchedulerError == .noElements)
    }
  }

  @Test("the source's error is thrown, and materialize keeps the elements before it") func sourceError() throws {
    for source in [Source.just(1, 2, then: .error(Failure(code: 5))), .later(1, 2, then: .error(Failure(code: 5)))] {
      #expect(thrown { try source.toBlocking().toArray() } as? Failure == Failure(code: 5))
      #expect(thrown { try source.toBlocking().last() } as? Failure == Failure(code: 5))
      #expect(thrown { try source.toBlocking().single { $0 == 1 } } as? Failure == Failure(code: 5))
      #expect(try source.toBlocking().first() == 1)
      guard case .failed([1, 2], let error) = source.toBlocking().materialize() else {
        Issue.record("not failed after 1, 2")
        continue
      }
      #expect(error as? Failure == Failure(code: 5))
      #expect(source.disposals.value == 5)
    }
    guard case .completed([4]) = Source.just(4).toBlocking().materialize() else {
      Issue.record("not completed after 4")
      return
    }
  }

  @Test(
    "a timeout keeps the elements before it, and disposes the source", arguments: [0, -5, 1, 20_000_000] as [Int64])
  func timeouts(nanoseconds: Int64) {
    let source = Source<Int> { handler in
      handler(.next(1))
      CurrentThreadScheduler.instance.schedule { handler(.next(2)) }
    }
    guard case .failed([1, 2], let error) = source.toBlocking(timeout: .nanoseconds(nanoseconds)).materialize() else {
      Issue.record("not failed after 1, 2")
      return
    }
    #expect(error as? SchedulerError == .timeout)
    #expect(source.disposals.value == 1)
    #expect((try? Source.just(3).toBlocking(timeout: .nanoseconds(nanoseconds)).single()) == 3)
    #expect((try? Source.later(3).toBlocking(timeout: .seconds(Int64.max)).single()) == 3)
  }

  @Test(
    "first disposes the source before its next element, on its own thread and on another", arguments: [true, false])
  func firstDisposes(atOnce: Bool) throws {
    final class Endless: EventSource {
      let said = Counter(), atOnce: Bool
      init(_ atOnce: Bool) { self.atOnce = atOnce }
      func subscribe(_ handler: @escaping @Sendable (SourceEvent<Int>) -> Void) -> any Disposable {
        let token = BooleanDisposable(), said = said
        let say: @Sendable () -> Void = {
          while !token.isDisposed { handler(.next(said.increment())) }
        }
        if atOnce { CurrentThreadScheduler.instance.schedule(say) } else { Thread.detachNewThread { say() } }
        return token
      }
    }
    let source = Endless(atOnce)
    #expect(try source.toBlocking(timeout: .seconds(200)).first() == 1)
    if atOnce { #expect(source.said.value == 1) }
    let seen = source.said.value
    usleep(2_000)
    #expect(source.said.value <= seen + 1)
  }

  @Test("the predicate is called once for each element, up to the second match") func predicateCounts() throws {
    let calls = Log<Int>(), source = Source.just(1, 2, 3, 4, 5)
    #expect(
      thrown {
        try source.toBlocking().single {
          calls.add($0)
          return $0 % 2 == 0
        }
      } as? SchedulerError == .moreThanOneElement)
    #expect(calls.entries == [1, 2, 3, 4])
    #expect(
      try source.toBlocking().single {
        calls.add($0)
        return $0 == 2
      } == 2)
    #expect(calls.entries == [1, 2, 3, 4, 1, 2, 3, 4, 5])
  }

  @Test("a predicate's error is thrown, at once, and the source is disposed") func throwingPredicate() {
    for source in [Source.just(1, 2, 3), .later(1, 2, 3)] {
      let calls = Counter()
      let error = thrown {
        try source.toBlocking().single {
          calls.increment()
          if $0 == 2 { throw Failure(code: 9) }
          return true
        }
      }
      #expect(error as? Failure == Failure(code: 9))
      #expect(calls.value == 2)
      #expect(source.disposals.value == 1)
    }
  }

  // O2, O3
  @Test("nothing of the source, the elements or the predicate stays, also when the handler does") func leaks() {
    let handlers = Log<Source<Token>.Handler>(), ends = Counter()
    weak var element: Token?
    weak var source: Source<Token>?
    do {
      let token = Token(), witness = Witness(ends)
      let leaky = Source<Token> { handler in
        handlers.add(handler)
        handler(.next(Token()))
      }
      (element, source) = (token, leaky)
      _ = leaky.toBlocking(timeout: .zero).materialize()
      handlers.entries[0](.next(token))
      _ = try? leaky.toBlocking(timeout: .zero).single { _ in
        witness.touch()
        return true
      }
      handlers.entries[1](.next(token))
      handlers.entries[1](.completed)
      #expect(leaky.disposals.value == 2)
    }
    #expect(element == nil && source == nil)
    #expect(ends.value == 1)
    #expect(handlers.entries.count == 2)
  }

  // O1, O3, O4
  @Test("a late event against the timeout: one of them wins, and the source is disposed once") func lateEvent() {
    var random = SeededGenerator(for: "a late event against the timeout")
    for _ in 0..<Scale.count(500) {
      let span = UInt32.random(in: 0..<150, using: &random), wait = Int.random(in: 0..<150, using: &random)
      let said = Gate()
      let source = Source<Int> { handler in
        Thread.detachNewThread {
          usleep(span)
          handler(.next(1))
          handler(.next(2))
          handler(.completed)
          said.open()
        }
      }
      switch source.toBlocking(timeout: .microseconds(wait)).materialize() {
      case .completed(let elements): #expect(elements == [1, 2])
      case .failed(let elements, let error):
        #expect(error as? SchedulerError == .timeout)
        #expect(elements == Array([1, 2].prefix(elements.count)))
      }
      #expect(source.disposals.value == 1)
      #expect(said.wait())
    }
  }

  @Test("the disposal is over when the call returns, though an event and not the timeout began it") func slowDisposal()
    throws
  {
    final class Slow: EventSource {
      let disposed = Counter()
      func subscribe(_ handler: @escaping @Sendable (SourceEvent<Int>) -> Void) -> any Disposable {
        Thread.detachNewThread {
          usleep(1_000)
          handler(.next(1))
        }
        return Disposables.create { [disposed] in
          usleep(50_000)
          disposed.increment()
        }
      }
    }
    let source = Slow()
    let result = source.toBlocking(timeout: .milliseconds(20)).materialize()
    #expect(source.disposed.value == 1)
    guard case .failed([1], _) = result else { return }
    let first = try? source.toBlocking(timeout: .milliseconds(20)).first()
    #expect(source.disposed.value == 2)
    #expect(first == nil || first == 1)
  }

  @Test("a wait inside of a source that is waited for") func nested() throws {
    let thread = try ThreadScheduler()
    let inner = Source<Int> { handler in
      thread.schedule(after: .milliseconds(1)) {
        handler(.next(2))
        handler(.completed)
      }
    }
    let outer = Source<Int> { handler in
      thread.schedule {
        handler(.next(1 + ((try? inner.toBlocking(timeout: .seconds(200)).single()) ?? 100)))
        handler(.completed)
      }
    }
    #expect(try outer.toBlocking(timeout: .seconds(200)).toArray() == [3])
  }

  @Test("a wait that names the queue it needs is refused inside of that queue") func needing() throws {
    let below = SerialScheduler(), queue = SerialScheduler(target: below), thread = try ThreadScheduler()
    let bound = SerialScheduler(target: thread), source = Source.just(1), other = SerialScheduler()
    @Sendable func ask(_ scheduler: SchedulerTarget) -> String {
      do { return "\(try source.toBlocking(needing: scheduler).single())" } catch {
        return "\(error)"
      }
    }
    let refused = "\(SchedulerError.deadlock)", results = Log<String>()
    #expect(queue.sync { [ask(queue), ask(below), ask(other)] } == [refused, refused, "1"])
    #expect(below.sync { [ask(queue), ask(below)] } == [refused, refused])
    bound.schedule { for target in [bound, thread] as [SchedulerTarget] { results.add(ask(target)) } }
    thread.drain()
    #expect(results.entries == [refused, "1"])
    #expect(ask(queue) == "1")
  }
}
