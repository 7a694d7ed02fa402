#if Combine
  import CTestSupport
  import OpenCombine
  import SchedulerCombine
  import TestSupport
  import Testing

  @Suite("repeat, throttle with a predicate, deliverOnMain", .nothingIsLeft) struct RepeatThrottleTests {
    typealias Seen = VirtualTimeTests.Seen

    // MARK: repeat

    @Test("repeat subscribes again after each completion, and completes behind the last", arguments: Kind.all)
    func repeats(_ kind: Kind) throws {
      let made = try kind.make()
      for times in [0, 1, 200] {
        let subscribed = Protected(0), recorder = Recorder<Int, Never>(.max(1)) { _, _ in .max(1) }
        Deferred { () -> OpenCombine.Publishers.Sequence<[Int], Never> in
          subscribed.withLock { $0 += 1 }
          return [1, 2].publisher
        }
        .repeat(times, scheduler: made.view).subscribe(recorder)
        #expect(made.until { recorder.hasEnded })
        #expect(recorder.values == (0...times).flatMap { _ in [1, 2] } && subscribed.read() == times + 1)
        #expect(recorder.broken.isEmpty)
      }
    }

    @Test("repeat passes a failure on, and requests the remaining demand of the next") func repeatEnds() {
      let clock = TestScheduler(), failed = Recorder<Int, Failed>(), asking = Recorder<Int, Never>(.max(3))
      Fail<Int, Failed>(error: Failed()).repeat(scheduler: clock.combine).subscribe(failed)
      [1, 2].publisher.repeat(scheduler: clock.combine).subscribe(asking)
      clock.run()
      #expect(failed.ends == [.failure(Failed())] && asking.values == [1, 2, 1] && asking.broken.isEmpty)
      asking.cancel()
      #expect(clock.pendingCount == 0)
    }

    @Test(
      "an endless repeat of an empty publisher takes no stack, lets other work run, and is cancelled",
      arguments: Kind.timed)
    func repeatEmpty(_ kind: Kind) throws {
      let made = try kind.make(), subscribed = Protected(0), gone = Protected(0)
      let recorder = Recorder<Int, Never>()
      Deferred { [tracked = Tracked(gone)] () -> Empty<Int, Never> in
        if subscribed.withLock({
          $0 += 1; return $0
        }) == 5_000 {
          recorder.cancel()
        }
        return withExtendedLifetime(tracked) { Empty() }
      }
      .repeat(scheduler: made.view).subscribe(recorder)
      #expect(made.until { subscribed.read() == 5_000 && gone.read() == 1 })
      #expect(!recorder.hasEnded)
    }

    @Test("a repeat is cancelled from inside of a call, and keeps nothing then", arguments: Kind.timed)
    func repeatCancel(_ kind: Kind) throws {
      let made = try kind.make(), gone = Protected(0)
      let recorder = Recorder<Int, Never> { recorder, _ in
        if recorder.count.read() == 7 { recorder.cancel() }
        return .none
      }
      do {
        let tracked = Tracked(gone)
        Deferred { withExtendedLifetime(tracked) { [1, 2, 3].publisher } }.repeat(scheduler: made.view).subscribe(
          recorder)
      }
      #expect(made.until { gone.read() == 1 })
      #expect(recorder.values == [1, 2, 3, 1, 2, 3, 1, 2] && recorder.broken.isEmpty)
    }

    // MARK: throttle with a predicate

    @Test("throttle with a predicate: those that pass it wait, and any other ends their wait") func predicate() {
      let seen = Seen()
      seen.send([(0, 1), (2, 10), (3, 2), (5, 3), (20, 4), (22, 11), (40, 5)], end: 45)
      #expect(
        seen.run(seen.source.throttle(for: .milliseconds(10), scheduler: seen.view) { $0 < 10 })
          == ["10 at 2", "3 at 15", "11 at 22", "5 at 45", "finished at 45"])
      let failing = Seen()
      failing.send([(0, 1)])
      failing.clock.schedule(after: .milliseconds(5)) { failing.source.send(completion: .failure(Failed())) }
      #expect(
        failing.run(failing.source.throttle(for: .milliseconds(10), scheduler: failing.view) { _ in true }) == [
          "failure(SchedulerCombineTests.Failed()) at 5"
        ])
    }

    @Test("throttle with a predicate delivers no more than the demand, and leaves out no due value")
    func predicateDemand() {
      let clock = TestScheduler(), source = PassthroughSubject<Int, Never>(), recorder = Recorder<Int, Never>(.max(1))
      source.throttle(for: 1, scheduler: clock.combine) { $0 % 2 == 0 }.subscribe(recorder)
      for value in [1, 3, 4] { source.send(value) }
      clock.run()
      source.send(5)
      source.send(completion: .finished)
      clock.run()
      #expect(recorder.values == [1])
      recorder.request(.max(2))
      clock.run()
      #expect(recorder.values == [1, 3, 4] && !recorder.hasEnded)
      recorder.request(.max(1))
      clock.run()
      #expect(recorder.values == [1, 3, 4, 5] && recorder.hasEnded && recorder.broken.isEmpty)
    }

    @Test("its values and its predicate are released with the cancellation") func predicateCaptures() {
      let clock = TestScheduler(), gone = Protected(0), source = PassthroughSubject<Tracked, Never>()
      do {
        let tracked = Tracked(gone), recorder = Recorder<Tracked, Never>(.none)
        source.throttle(for: 1, scheduler: clock.combine) { _ in
          withExtendedLifetime(tracked) { clock.now.nanoseconds > 0 }
        }
        .subscribe(recorder)
        source.send(Tracked(gone))
        clock.advance(by: .milliseconds(1))
        source.send(Tracked(gone))
        recorder.cancel()
      }
      #expect(gone.read() == 3 && clock.pendingCount == 0)
    }

    // MARK: where and when

    @Test("deliverOnMain delivers on the main scheduler, in order, from any sender") func deliverOnMain() {
      ctest_host_main_loop()
      let queue = ConcurrentScheduler(name: "elsewhere"), elsewhere = Protected(0)
      let recorder = Recorder<Int, Never>(.max(1)) { _, _ in
        if Schedulers.current !== SchedulerCombine.MainScheduler.instance { elsewhere.withLock { $0 += 1 } }
        return .max(1)
      }
      (0..<1_000).publisher(on: queue.combine).deliverOnMain().subscribe(recorder)
      #expect(eventually { recorder.hasEnded })
      #expect(recorder.values == Array(0..<1_000) && elsewhere.read() == 0 && recorder.broken.isEmpty)
    }

    @Test("each that takes a tolerance hands it on to the timers") func tolerances() {
      let noted = Notes(), view = noted.combine
      let held = [
        view.interval(every: 2, tolerance: .milliseconds(3)).sink { _ in },
        Just(1).delay(for: 2, tolerance: .milliseconds(4), scheduler: view).map { $0 }.sink { _ in },
      ]
      #expect(noted.tolerances.read() == [.milliseconds(3), .milliseconds(4)])
      withExtendedLifetime(held) {}
    }

    // MARK: many

    @Test("many values through repeat, and through a throttle that lets them pass") func many() {
      let queue = SerialScheduler(name: "million"), count = manyValues
      let repeated = Sum(), passed = Sum()
      let first = (0..<count / 100).publisher.repeat(99, scheduler: queue.combine)
        .sink(receiveCompletion: { _ in repeated.hasEnded.write(true) }, receiveValue: { repeated.value += $0 })
      let second = (0..<count).publisher.throttle(for: 1, scheduler: queue.combine) { $0 == count - 1 }
        .sink(receiveCompletion: { _ in passed.hasEnded.write(true) }, receiveValue: { passed.value += $0 })
      #expect(eventually { repeated.hasEnded.read() && passed.hasEnded.read() })
      let part = count / 100
      #expect(repeated.value == 100 * (part * (part - 1) / 2) && passed.value == count * (count - 1) / 2)
      first.cancel()
      second.cancel()
    }
  }
#endif
