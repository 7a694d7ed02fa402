#if Combine
  import OpenCombine
  import Scheduler
  import SchedulerCombine
  import SchedulerTesting
  import TestSupport
  import Testing

  @Suite("retry and interval", .nothingIsLeft) struct RetryTests {
    @Test("each attempt begins after its pause, and the last failure is passed on") func backoff() {
      let seen = VirtualTimeTests.Seen()
      let source = Deferred { () -> Fail<Int, Failed> in
        seen.log.append("at \(seen.milliseconds)")
        return Fail(error: Failed())
      }
      let backoff = Backoff.exponential(first: .milliseconds(10), limit: .milliseconds(50))
      #expect(
        seen.run(source.retry(4, backoff: backoff, scheduler: seen.view)) == [
          "at 0", "at 10", "at 30", "at 70", "at 120", "failure(SchedulerCombineTests.Failed()) at 120",
        ])
    }

    @Test("the remaining demand is requested of the next attempt") func demand() {
      let clock = TestScheduler(), attempts = Protected(0), recorder = Recorder<Int, Failed>(.max(5))
      Deferred { () -> AnyPublisher<Int, Failed> in
        attempts.withLock { $0 += 1 }
        return [1, 2].publisher.setFailureType(to: Failed.self).append(Fail(error: Failed())).eraseToAnyPublisher()
      }
      .retry(.max, backoff: .constant(.seconds(1)), scheduler: clock.combine).subscribe(recorder)
      clock.advance(by: .seconds(10))
      // The third attempt has one value to give, and then no demand is left.
      #expect(recorder.values == [1, 2, 1, 2, 1] && attempts.read() == 3 && recorder.broken.isEmpty)
      recorder.cancel()
      #expect(clock.pendingCount == 0)
    }

    @Test("a cancellation ends a pause, and nothing is kept") func cancel() {
      let clock = TestScheduler(), gone = Protected(0)
      do {
        let held = Deferred { [tracked = Tracked(gone)] () -> Fail<Int, Failed> in
          withExtendedLifetime(tracked) { Fail(error: Failed()) }
        }
        .retry(9, backoff: .constant(.seconds(1)), scheduler: clock.combine)
        .sink(receiveCompletion: { _ in }, receiveValue: { _ in })
        #expect(clock.pendingCount == 1)
        held.cancel()
      }
      #expect(clock.pendingCount == 0 && gone.read() == 1)
    }

    @Test("ten thousand attempts that fail at once take a constant stack", arguments: Kind.all)
    func stack(_ kind: Kind) throws {
      let made = try kind.make(), attempts = Protected(0), recorder = Recorder<Int, Failed>()
      let count = made.scheduler is CollapsedTimeScheduler || kind.isInline ? 10_000 : 100
      Deferred { () -> Fail<Int, Failed> in
        attempts.withLock { $0 += 1 }
        return Fail(error: Failed())
      }
      .retry(count, backoff: .constant(.zero), scheduler: made.view).subscribe(recorder)
      #expect(made.until { recorder.hasEnded })
      #expect(attempts.read() == count + 1)
    }

    @Test("a backoff grows to its limit, and by chance stays within its share") func backoffs() {
      let plain = Backoff.exponential(first: .seconds(1), factor: 3, limit: .seconds(20))
      #expect(
        [1, 2, 3, 4, 1_000_000].map { plain.delay(beforeAttempt: $0) } == [1, 3, 9, 20, 20].map { .seconds($0) })
      let odd = Backoff.exponential(first: .seconds(1), factor: .nan, limit: .seconds(20), jitter: .nan)
      #expect(odd.delay(beforeAttempt: 50) == .seconds(1))
      let share = Backoff.exponential(first: .seconds(8), limit: .seconds(8), jitter: 0.5)
      for attempt in 1...100 { #expect((.seconds(4)...(.seconds(8))).contains(share.delay(beforeAttempt: attempt))) }
    }

    @Test("an interval counts its ticks, in virtual time without drift") func interval() {
      let clock = TestScheduler(), recorder = Recorder<Int, Never>()
      clock.combine.interval(every: .milliseconds(10)).subscribe(recorder)
      for _ in 0..<100 { clock.advance(by: .milliseconds(1)) }
      #expect(recorder.values == Array(0..<10))
      recorder.cancel()
      #expect(clock.pendingCount == 0)
    }

    @Test("a tick without a request is left out") func intervalDemand() {
      let clock = TestScheduler(), recorder = Recorder<Int, Never>(.max(2))
      clock.combine.interval(every: 1, tolerance: 0.1).subscribe(recorder)
      for _ in 0..<5 { clock.advance(by: .seconds(1)) }
      recorder.request(.max(1))
      for _ in 0..<5 { clock.advance(by: .seconds(1)) }
      #expect(recorder.values == [0, 1, 5] && recorder.broken.isEmpty)
      recorder.cancel()
    }

    @Test("an interval ticks on each kind of scheduler until it is cancelled from inside", arguments: Kind.timed)
    func intervalKinds(_ kind: Kind) throws {
      let made = try kind.make()
      let recorder = Recorder<Int, Never> { recorder, tick in
        if tick == 4 { recorder.cancel() }
        return .none
      }
      made.view.interval(every: .milliseconds(1)).subscribe(recorder)
      #expect(made.until { recorder.count.read() == 5 })
      #expect(recorder.values == [0, 1, 2, 3, 4] && recorder.broken.isEmpty)
    }
  }
#endif
