#if Combine
  import OpenCombine
  import SchedulerCombine
  import TestSupport
  import Testing

  @Suite("startEagerly and startLazily", .nothingIsLeft) struct SharedPublisherTests {
    @Test(
      "eagerly it begins by itself, lazily with the first subscriber; each once, on the scheduler", arguments: Kind.all)
    func once(_ kind: Kind) throws {
      for isEager in [true, false] {
        let made = try kind.make(), begun = Protected(0), view = made.view
        let source = Deferred { () -> AnyPublisher<Int, Failed> in
          begun.withLock { $0 += 1 }
          return [1, 2, 3].publisher.setFailureType(to: Failed.self).append(Fail(error: Failed())).eraseToAnyPublisher()
        }
        let shared = isEager ? source.startEagerly(on: view) : source.startLazily(on: view)
        if isEager { #expect(made.until { begun.read() == 1 }) } else { #expect(begun.read() == 0) }
        let recorders = (0..<3).map { _ in Recorder<Int, Failed>() }
        for recorder in recorders {
          shared.subscribe(recorder)
          #expect(made.until { recorder.hasEnded })
          #expect(recorder.values == [1, 2, 3] && recorder.ends == [.failure(Failed())] && recorder.broken.isEmpty)
        }
        #expect(begun.read() == 1)
      }
    }

    @Test("a closure is called once, and sends to all") func closures() {
      let clock = TestScheduler(), called = Protected(0), kept = Protected<[PassthroughSubject<Int, Never>]>([])
      let body: (PassthroughSubject<Int, Never>) -> Void = { subject in
        called.withLock { $0 += 1 }
        subject.send(1)
        kept.withLock { $0.append(subject) }
      }
      let lazily = clock.combine.startLazily(body), eagerly = clock.combine.startEagerly(body)
      clock.run()
      #expect(called.read() == 1)
      for shared in [lazily, eagerly] {
        let early = Recorder<Int, Never>(), late = Recorder<Int, Never>(.max(1))
        shared.subscribe(early)
        clock.run()
        shared.subscribe(late)
        let subject = kept.withLock { shared === lazily ? $0[1] : $0[0] }
        subject.send(2)
        subject.send(completion: .finished)
        #expect(early.values == [1, 2] && early.hasEnded && late.values == [1] && !late.hasEnded)
        late.request(.max(1))
        #expect(late.values == [1, 2] && late.hasEnded && late.broken.isEmpty)
      }
      #expect(called.read() == 2)
    }

    @Test("subscribers from three threads while it sends get the same values, and it begins once")
    func threads() {
      let queue = SerialScheduler(name: "shared"), pool = ConcurrentScheduler(name: "subscribers"), begun = Protected(0)
      let shared = Deferred { () -> OperatorPublisher<Int, Never> in
        begun.withLock { $0 += 1 }
        return (0..<500).publisher(on: queue.combine)
      }.startLazily(on: queue.combine)
      let recorders = (0..<12).map { _ in Recorder<Int, Never>(.max(1)) { _, _ in .max(1) } }
      let coming = (0..<3).map { part in
        pool.schedule { for recorder in recorders[part * 4..<part * 4 + 4] { shared.subscribe(recorder) } }
      }
      #expect(eventually { coming.allSatisfy(\.isDisposed) })
      for recorder in recorders {
        #expect(eventually { recorder.hasEnded })
        #expect(recorder.values == Array(0..<500) && recorder.broken.isEmpty)
      }
      #expect(begun.read() == 1)
    }

    @Test("a subscriber's cancellation is its own, from inside of a call, too; that of the work ends all") func cancel()
    {
      let clock = TestScheduler(), subject = PassthroughSubject<Int, Never>(), isCancelled = Protected(false)
      let shared = subject.handleEvents(receiveCancel: { isCancelled.write(true) }).startEagerly(on: clock.combine)
      clock.run()
      let inside = Recorder<Int, Never> { recorder, _ in
        recorder.cancel()
        return .none
      }
      let other = Recorder<Int, Never>(), late = Recorder<Int, Never>()
      shared.subscribe(inside)
      shared.subscribe(other)
      subject.send(1)
      subject.send(2)
      #expect(inside.values == [1] && other.values == [1, 2] && !isCancelled.read())
      shared.cancel()
      subject.send(3)
      shared.subscribe(late)
      #expect(isCancelled.read() && other.values == [1, 2] && late.values == [1, 2] && !late.hasEnded)
      other.cancel()
      late.cancel()
    }

    @Test("cancelled before it begins it does not, and its captures are released") func neverBegun() {
      let clock = TestScheduler(), gone = Protected(0)
      func source() -> some Publisher<Int, Never> {
        Deferred { [tracked = Tracked(gone)] in withExtendedLifetime(tracked) { Just(1) } }
      }
      let eager = source().startEagerly(on: clock.combine), lazily = source().startLazily(on: clock.combine)
      #expect(clock.pendingCount == 1)
      eager.cancel()
      lazily.cancel()
      #expect(clock.pendingCount == 0 && gone.read() == 2)
      let late = Recorder<Int, Never>()
      lazily.subscribe(late)
      #expect(clock.pendingCount == 0)
      late.cancel()
    }

    @Test("values are kept for later subscribers only") func lifetime() {
      let clock = TestScheduler(), gone = Protected(0), subject = PassthroughSubject<Tracked, Never>()
      var shared: SharedPublisher? = subject.startEagerly(on: clock.combine)
      let recorder = Recorder<Tracked, Never>(keeps: false), slow = Recorder<Tracked, Never>(.none, keeps: false)
      shared?.subscribe(recorder)
      shared?.subscribe(slow)
      clock.run()
      for _ in 0..<3 { subject.send(Tracked(gone)) }
      slow.cancel()
      #expect(gone.read() == 0)
      shared = nil
      #expect(gone.read() == 3)
      subject.send(Tracked(gone))  // the work continues for the other subscribers
      #expect(gone.read() == 4 && recorder.count.read() == 4)
      subject.send(completion: .finished)
      #expect(recorder.hasEnded)
    }

    @Test("many values to two subscribers, one of which requests one at a time") func many() {
      let queue = SerialScheduler(name: "million"), sum = Sum(), count = manyValues / 2
      let shared = (0..<count).publisher.startEagerly(on: queue.combine)
      let held = shared.sink(receiveCompletion: { _ in sum.hasEnded.write(true) }, receiveValue: { sum.value += $0 })
      let recorder = Recorder<Int, Never>(.max(1), keeps: false) { _, _ in .max(1) }
      shared.subscribe(recorder)
      #expect(eventually { sum.hasEnded.read() && recorder.hasEnded })
      #expect(sum.value == count * (count - 1) / 2 && recorder.count.read() == count && recorder.broken.isEmpty)
      held.cancel()
    }
  }
#endif
