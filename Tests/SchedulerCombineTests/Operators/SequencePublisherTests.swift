#if Combine
  import OpenCombine
  import SchedulerCombine
  import TestSupport
  import Testing

  @Suite("publisher(on:) of a sequence", .nothingIsLeft) struct SequencePublisherTests {
    @Test("all elements are delivered, in order, then the end", arguments: Kind.all) func order(_ kind: Kind) throws {
      let made = try kind.make()
      for count in [0, 1, 300] {
        let recorder = Recorder<Int, Never>()
        (0..<count).publisher(on: made.view).subscribe(recorder)
        #expect(made.until { recorder.hasEnded })
        #expect(recorder.values == Array(0..<count) && recorder.broken.isEmpty)
      }
    }

    @Test("other work of the scheduler runs between two values") func interleaving() {
      let clock = TestScheduler(), log = Protected<[String]>([])
      let held = (0..<3).publisher(on: clock.combine).sink { log.append("\($0)") }
      clock.schedule {
        log.append("other")
        clock.schedule { log.append("another") }
      }
      clock.run()
      #expect(log.read() == ["0", "other", "1", "another", "2"])
      held.cancel()
    }

    @Test("as many are taken as are requested, and a cancellation stops it between two values", arguments: Kind.all)
    func demand(_ kind: Kind) throws {
      let made = try kind.make(), taken = Protected(0)
      let recorder = Recorder<Int, Never>(.max(2)) { recorder, value in
        if value == 4 { recorder.cancel() }
        return .none
      }
      (0...).lazy.map { value in
        taken.withLock { $0 += 1 }
        return value
      }
      .publisher(on: made.view).subscribe(recorder)
      #expect(made.until { recorder.count.read() == 2 })
      recorder.request(.unlimited)
      #expect(made.until { recorder.count.read() == 5 })
      #expect(recorder.values == [0, 1, 2, 3, 4] && recorder.broken.isEmpty)
      #expect(taken.read() == 5)
    }

    @Test("the sequence is released by a cancellation between two values, though the subscription is held")
    func between() {
      let clock = TestScheduler(), gone = Protected(0)
      let subscriber = Holder<Int, Never>()
      (0...).lazy.map { [tracked = Tracked(gone)] value in withExtendedLifetime(tracked) { value } }
        .publisher(on: clock.combine).subscribe(subscriber)
      subscriber.subscription?.request(.max(2))
      clock.run()
      #expect(subscriber.count == 2 && gone.read() == 0)
      subscriber.subscription?.cancel()
      #expect(gone.read() == 1)
    }

    @Test("nothing is kept after a cancellation before the first value") func cancelled() {
      let clock = TestScheduler(), gone = Protected(0)
      do { [Tracked(gone)].publisher(on: clock.combine).sink { _ in }.cancel() }
      #expect(gone.read() == 1 && clock.pendingCount == 0)
    }

    @Test("many values, one in each action") func many() {
      let queue = SerialScheduler(name: "sequence"), sum = Sum(), count = manyValues
      let held = (0..<count).publisher(on: queue.combine)
        .sink(receiveCompletion: { _ in sum.hasEnded.write(true) }, receiveValue: { sum.value += $0 })
      #expect(eventually { sum.hasEnded.read() })
      #expect(sum.value == count * (count - 1) / 2)
      held.cancel()
    }
  }
#endif
