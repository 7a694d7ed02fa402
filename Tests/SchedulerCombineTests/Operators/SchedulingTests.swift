#if Combine
  import OpenCombine
  import SchedulerCombine
  import SchedulerRx
  import TestSupport
  import Testing

  /// The operators that take a scheduler, on each kind of one.
  @Suite("Operators on a scheduler", .nothingIsLeft) struct SchedulingTests {
    typealias Moved<Value> = OperatorPublisher<Value, Never>
    typealias Move = @Sendable (AnyPublisher<Int, Never>, CombineScheduler) -> OperatorPublisher<Int, Never>

    /// Those that hand on all that comes.
    static let moves: [(name: String, move: Move)] = [
      ("receive(on:)", { $0.receive(on: $1) }),
      ("subscribe(on:)", { $0.subscribe(on: $1) }),
      ("delay", { $0.delay(for: .microseconds(10), scheduler: $1) }),
      ("timeout", { $0.timeout(.seconds(3_600), scheduler: $1) }),
    ]

    @Test("all values are delivered, in order, then the end", arguments: Kind.all) func order(_ kind: Kind) throws {
      for (name, move) in Self.moves where !(kind.isInline && name == "timeout") {
        let made = try kind.make(), recorder = Recorder<Int, Never>()
        move((0..<500).publisher.eraseToAnyPublisher(), made.view).subscribe(recorder)
        #expect(made.until { recorder.hasEnded }, "\(name)")
        #expect(recorder.values == Array(0..<500), "\(name)")
        #expect(recorder.broken.isEmpty, "\(name)")
      }
    }

    @Test("an operator's actions have the priority that its options give them") func priority() async {
      await #expect(processExitsWith: .success) {
        runOnOneCPU {  // so that the pool has one worker, and what waits goes by priority
          let view = ConcurrentScheduler().combine, log = Protected<[SchedulerPriority]>([])
          let begun = BooleanDisposable(), isFree = BooleanDisposable()
          view.schedule {
            begun.dispose()
            while !isFree.isDisposed {}
          }
          precondition(eventually { begun.isDisposed })
          var held: Set<AnyCancellable> = []
          for priority in [SchedulerPriority.low, .default, .high] {
            let options = CombineScheduler.SchedulerOptions(priority: priority)
            Just(priority).subscribe(on: view, options: options).sink { log.append($0) }.store(in: &held)
            Just(priority).receive(on: view, options: options).sink { log.append($0) }.store(in: &held)
          }
          isFree.dispose()
          precondition(eventually { log.read().count == 6 })
          precondition(log.read() == [.high, .high, .default, .default, .low, .low], "\(log.read())")
        }
      }
    }

    @Test("a failure comes behind the values", arguments: Kind.all) func failure(_ kind: Kind) throws {
      let made = try kind.make(), recorder = Recorder<Int, Failed>()
      (0..<100).publisher.setFailureType(to: Failed.self).append(Fail(error: Failed()))
        .receive(on: made.view).delay(for: .microseconds(10), scheduler: made.view).subscribe(recorder)
      #expect(made.until { recorder.hasEnded })
      #expect(recorder.values == Array(0..<100) && recorder.ends == [.failure(Failed())] && recorder.broken.isEmpty)
    }

    @Test("no more is requested than the subscriber requests", arguments: Kind.all) func demand(_ kind: Kind) throws {
      for (name, move) in Self.moves where !(kind.isInline && name == "timeout") {
        let made = try kind.make(), recorder = Recorder<Int, Never>(.max(3)), sent = Protected(0)
        let source = (0...).publisher.handleEvents(receiveOutput: { _ in sent.withLock { $0 += 1 } })
        move(source.eraseToAnyPublisher(), made.view).subscribe(recorder)
        #expect(made.until { recorder.count.read() == 3 }, "\(name)")
        recorder.request(.max(2))
        #expect(made.until { recorder.count.read() == 5 }, "\(name)")
        recorder.cancel()
        #expect(recorder.values == [0, 1, 2, 3, 4] && sent.read() == 5 && recorder.broken.isEmpty, "\(name)")
      }
    }

    @Test("a subscriber that requests one more in each call gets all, with a constant stack", arguments: Kind.all)
    func reentrancy(_ kind: Kind) throws {
      for (name, move) in Self.moves where !(kind.isInline && name == "timeout") {
        for requestsInside in [false, true] {
          let made = try kind.make()
          let recorder = Recorder<Int, Never>(.max(1), keeps: false) { recorder, _ in
            if requestsInside { recorder.request(.max(1)) }
            return requestsInside ? .none : .max(1)
          }
          let usual = Scale.sanitizer == .thread ? 500 : 5_000
          let count = name == "delay" ? 200 : usual  // each delay is a timer of its own here
          move((0..<count).publisher.eraseToAnyPublisher(), made.view).subscribe(recorder)
          #expect(made.until { recorder.hasEnded }, "\(name)")
          #expect(recorder.count.read() == count && recorder.broken.isEmpty, "\(name)")
        }
      }
    }

    @Test("no value follows a cancellation from inside of a call", arguments: Kind.all)
    func cancelInside(_ kind: Kind) throws {
      for (name, move) in Self.moves where !(kind.isInline && name == "timeout") {
        let made = try kind.make(), gone = Protected(0)
        let recorder = Recorder<Int, Never>(.max(1)) { [tracked = Tracked(gone)] recorder, value in
          withExtendedLifetime(tracked) {}
          if value == 9 { recorder.cancel() }
          return .max(1)
        }
        move((0...).publisher.eraseToAnyPublisher(), made.view).subscribe(recorder)
        #expect(made.until { recorder.count.read() == 10 }, "\(name)")
        #expect(recorder.values == Array(0..<10) && !recorder.hasEnded && recorder.broken.isEmpty, "\(name)")
      }
    }

    @Test("waiting values are released when the cancellation returns, on a scheduler that never runs them")
    func captures() {
      let clock = TestScheduler()
      let all: [(CombineScheduler, PassthroughSubject<Tracked, Never>) -> OperatorPublisher<Tracked, Never>] = [
        { $1.receive(on: $0) }, { $1.delay(for: .seconds(1), scheduler: $0) },
        { $1.debounce(for: .seconds(1), scheduler: $0) },
        { $1.throttle(for: .seconds(1), scheduler: $0, latest: true) },
        { $1.throttle(for: .seconds(1), scheduler: $0, latest: false) }, { $1.timeout(.seconds(1), scheduler: $0) },
      ]
      for (index, operate) in all.enumerated() {
        for ends in [false, true] {
          let gone = Protected(0), received = Protected(0), subject = PassthroughSubject<Tracked, Never>()
          let owned = Tracked(gone)
          var held: AnyCancellable? = operate(clock.combine, subject).sink { [owned] _ in
            withExtendedLifetime(owned) { received.withLock { $0 += 1 } }
          }
          for _ in 0..<3 { subject.send(Tracked(gone)) }
          if ends { subject.send(completion: .finished) }
          held?.cancel()
          held = nil
          #expect(gone.read() == 3, "values of number \(index)")
          #expect(clock.pendingCount == 0, "number \(index)")
          clock.run()
          #expect(received.read() == 0)
          withExtendedLifetime(owned) {}
        }
      }
    }

    @Test("nothing of a subscriber is kept after the end, or the cancellation", arguments: Kind.timed)
    func subscribers(_ kind: Kind) throws {
      let gone = Protected(0)
      do {
        let made = try kind.make()
        for (_, move) in Self.moves {
          let tracked = Tracked(gone), ended = Protected(false)
          let held = move([1, 2].publisher.eraseToAnyPublisher(), made.view)
            .sink(
              receiveCompletion: { [tracked] _ in withExtendedLifetime(tracked) { ended.write(true) } },
              receiveValue: { _ in })
          #expect(made.until { ended.read() })
          let other = Tracked(gone)
          move(Empty(completeImmediately: false).eraseToAnyPublisher(), made.view)
            .sink { [other] _ in withExtendedLifetime(other) {} }.cancel()
          held.cancel()
        }
      }
      #expect(eventually { gone.read() == 2 * Self.moves.count })
    }

    @Test("a subscription that is cancelled before its turn does not subscribe")
    func unsubscribed() {
      let clock = TestScheduler(), subscribed = Protected(0)
      let source = Deferred { () -> Just<Int> in
        subscribed.withLock { $0 += 1 }
        return Just(1)
      }
      source.subscribe(on: clock.combine).sink { _ in }.cancel()
      #expect(clock.pendingCount == 0)
      clock.run()
      #expect(subscribed.read() == 0)
      let held = source.subscribe(on: clock.combine).sink { _ in }
      clock.run()
      #expect(subscribed.read() == 1)
      held.cancel()
    }

    @Test("values that four threads send while another cancels are delivered one at a time")
    func race() throws {
      for _ in 0..<Scale.count(50) {
        let queue = ConcurrentScheduler(name: "race")
        let subject = PassthroughSubject<Int, Never>(), recorder = Recorder<Int, Never>()
        subject.receive(on: queue.combine).subscribe(recorder)
        nonisolated(unsafe) let sender = subject
        let sending = (0..<4).map { thread in queue.schedule { for n in 0..<50 { sender.send(thread * 50 + n) } } }
        let cancelling = queue.schedule { recorder.cancel() }
        for action in sending + [cancelling] { _ = eventually { action.isDisposed } }
        cancelling.disposeAndWait()
        #expect(recorder.broken.isEmpty)
      }
    }
  }
#endif
