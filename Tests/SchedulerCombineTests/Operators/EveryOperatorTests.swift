#if Combine
  import OpenCombine
  import SchedulerCombine
  import TestSupport
  import Testing

  extension Publisher where Output == Int, Failure == Never {
    fileprivate func alone() -> AnyPublisher<[Int], Never> { map { [$0] }.eraseToAnyPublisher() }
  }

  /// What every operator keeps, on each kind of scheduler.
  @Suite("Every operator", .nothingIsLeft) struct EveryOperatorTests {
    /// Delivers values in groups, most of them of one.
    typealias Operate = @Sendable (AnyPublisher<Int, Never>, CombineScheduler) -> AnyPublisher<[Int], Never>

    static let all: [(name: String, operate: Operate)] = [
      ("receive(on:)", { $0.receive(on: $1).alone() }),
      ("subscribe(on:)", { $0.subscribe(on: $1).alone() }),
      ("delay", { $0.delay(for: .microseconds(1), scheduler: $1).alone() }),
      ("delay by nothing", { $0.delay(for: 0, scheduler: $1).alone() }),
      ("debounce", { $0.debounce(for: .microseconds(1), scheduler: $1).alone() }),
      ("throttle", { $0.throttle(for: .microseconds(1), scheduler: $1, latest: true).alone() }),
      ("throttle, first", { $0.throttle(for: .microseconds(1), scheduler: $1, latest: false).alone() }),
      ("throttle, some", { $0.throttle(for: .microseconds(1), scheduler: $1) { $0 % 2 == 0 }.alone() }),
      ("timeout", { $0.timeout(3_600, scheduler: $1).alone() }),
      (
        "collect by time",
        { $0.collect(.byTime($1, .microseconds(1))).eraseToAnyPublisher() }
      ),
      (
        "collect by time or count",
        { $0.collect(.byTimeOrCount($1, .microseconds(1), 2)).eraseToAnyPublisher() }
      ),
      ("retry", { $0.retry(3, backoff: .constant(.zero), scheduler: $1).alone() }),
      ("repeat", { $0.repeat(0, scheduler: $1).alone() }),
      ("merge", { source, _ in source.merge(with: Empty()).alone() }),
      ("combineLatest", { source, _ in source.combineLatest(Just(1)).map { $0.0 }.alone() }),
    ]

    @Test(
      "a subscriber that sends the next value from inside of each call gets all, one call at a time",
      arguments: Kind.all)
    func sendsInside(_ kind: Kind) throws {
      for (name, operate) in Self.all where !(kind.isInline && name == "timeout") {
        let made = try kind.make(), subject = CurrentValueSubject<Int, Never>(0), last = 50
        let recorder = Recorder<[Int], Never> { _, values in
          for value in values {
            if value < last { subject.send(value + 1) } else { subject.send(completion: .finished) }
          }
          return .none
        }
        operate(subject.eraseToAnyPublisher(), made.view).subscribe(recorder)
        #expect(made.until { recorder.hasEnded }, "\(name)")
        #expect(recorder.values.flatMap(\.self) == Array(0...last) && recorder.broken.isEmpty, "\(name)")
        recorder.cancel()
      }
    }

    @Test("a subscription that is held after its cancellation keeps nothing, and no timer", arguments: [0, 1, 3])
    func held(_ count: Int) {
      for (name, operate) in Self.all {
        let clock = TestScheduler(), gone = Protected(0), subscriber = Holder<[Int], Never>()
        do {
          let tracked = Tracked(gone), subject = PassthroughSubject<Int, Never>()
          let source = Deferred {
            subject.handleEvents(receiveOutput: { [tracked] _ in withExtendedLifetime(tracked) {} })
          }
          operate(source.eraseToAnyPublisher(), clock.combine).subscribe(subscriber)
          clock.advance(by: .milliseconds(1))
          for value in 0..<count { subject.send(value) }
          subscriber.subscription?.request(.max(1))
          if count == 3 { clock.advance(by: .milliseconds(1)) }
          for value in 0..<count { subject.send(value) }
          subscriber.subscription?.cancel()
        }
        #expect(clock.pendingCount == 0 && gone.read() == 1, "\(name)")
      }
    }

    @Test(
      "three threads send while another one cancels: one call at a time, and nothing is left", arguments: Kind.timed)
    func races(_ kind: Kind) throws {
      for (name, operate) in Self.all {
        let made = try kind.make(), pool = ConcurrentScheduler(name: "senders"), gone = Protected(0)
        do {
          nonisolated(unsafe) let subject = PassthroughSubject<Int, Never>()
          let recorder = Recorder<[Int], Never>(.max(5)) { [tracked = Tracked(gone)] _, _ in
            withExtendedLifetime(tracked) { .max(1) }
          }
          operate(subject.eraseToAnyPublisher(), made.view).subscribe(recorder)
          let sending = (0..<3).map { part in
            pool.schedule { for value in 0..<100 { subject.send(part * 100 + value) } }
          }
          let cancelling = pool.schedule { recorder.cancel() }
          #expect(made.until { (sending + [cancelling]).allSatisfy(\.isDisposed) })
          cancelling.disposeAndWait()
          // Looked at once: a value that was on its way to the recorder at the cancellation may still come.
          let (values, broken) = (recorder.values, recorder.broken)
          #expect(Set(values).count == values.count, "\(name): \(values)")
          #expect(broken.isEmpty, "\(name): \(broken)")
        }
        #expect(made.until { gone.read() == 1 }, "\(name)")
      }
    }
  }
#endif
