#if Combine
  import OpenCombine
  import SchedulerCombine
  import TestSupport
  import Testing

  @Suite("collect by time", .nothingIsLeft) struct CollectTests {
    @Test("groups by time begin with their first value, and an idle pipeline has no timer") func byTime() {
      let seen = VirtualTimeTests.Seen()
      seen.send([(3, 1), (5, 2), (30, 3)], end: 32)
      #expect(
        seen.run(seen.source.collect(.byTime(seen.view, .milliseconds(10)))) == [
          "[1, 2] at 13", "[3] at 32", "finished at 32",
        ])
      let idle = VirtualTimeTests.Seen()
      let held = idle.source.collect(.byTimeOrCount(idle.view, 1, 2)).sink(
        receiveCompletion: { _ in }, receiveValue: { _ in })
      #expect(idle.clock.pendingCount == 0)
      for _ in 0..<3 {
        idle.source.send(1)
        #expect(idle.clock.pendingCount == 1)
        idle.source.send(2)
        #expect(idle.clock.pendingCount == 0)  // the group is full
      }
      idle.source.send(3)
      held.cancel()
      #expect(idle.clock.pendingCount == 0)
    }

    @Test("groups by time or count are full at once, and the time is that of the group") func byTimeOrCount() {
      let seen = VirtualTimeTests.Seen()
      seen.send([(0, 1), (1, 2), (5, 3), (20, 4), (21, 5), (25, 6)], end: 40)
      #expect(
        seen.run(seen.source.collect(.byTimeOrCount(seen.view, .milliseconds(10), 2)))
          == ["[1, 2] at 1", "[3] at 15", "[4, 5] at 21", "[6] at 35", "finished at 40"])
    }

    @Test("a failure is delivered at once, without the last group") func failure() {
      let seen = VirtualTimeTests.Seen()
      seen.send([(0, 1)])
      seen.clock.schedule(after: .milliseconds(1)) { seen.source.send(completion: .failure(Failed())) }
      #expect(
        seen.run(seen.source.collect(.byTime(seen.view, .milliseconds(10)))) == [
          "failure(SchedulerCombineTests.Failed()) at 1"
        ])
    }

    @Test("collect requests no more values than the groups take", arguments: Kind.timed) func demand(_ kind: Kind)
      throws
    {
      let made = try kind.make(), sent = Protected(0), recorder = Recorder<[Int], Never>(.max(2))
      (0...).publisher.handleEvents(receiveOutput: { _ in sent.withLock { $0 += 1 } })
        .collect(.byTimeOrCount(made.view, .seconds(1), 5)).subscribe(recorder)
      #expect(made.until { recorder.count.read() == 2 })
      #expect(sent.read() == 10)
      recorder.request(.max(1))
      #expect(made.until { recorder.count.read() == 3 })
      #expect(sent.read() == 15 && recorder.values == [Array(0..<5), Array(5..<10), Array(10..<15)])
      #expect(recorder.broken.isEmpty)
      recorder.cancel()
    }

    @Test("groups that time, count and the end fill at the same time keep the order, and lose nothing")
    func race() {
      for round in 0..<Scale.count(100) {
        let queue = ConcurrentScheduler(name: "groups"), source = PassthroughSubject<Int, Never>()
        let recorder = Recorder<[Int], Never>()
        source.collect(.byTimeOrCount(queue.combine, .microseconds(1 + round % 20), 3)).subscribe(recorder)
        for value in 0..<200 { source.send(value) }
        source.send(completion: .finished)
        #expect(eventually { recorder.hasEnded })
        #expect(recorder.values.flatMap { $0 } == Array(0..<200) && recorder.broken.isEmpty)
      }
    }

    @Test("many values in groups: nothing is lost") func many() {
      let queue = SerialScheduler(name: "groups"), sum = Protected(0), ended = Protected(false)
      let count = Scale.sanitizer == .none ? 300_000 : 100_000
      let held = (0..<count).publisher.collect(.byTimeOrCount(queue.combine, .milliseconds(1), 1_000))
        .sink(
          receiveCompletion: { _ in ended.write(true) },
          receiveValue: { group in sum.withLock { $0 += group.reduce(0, +) } })
      #expect(eventually { ended.read() })
      #expect(sum.read() == count * (count - 1) / 2)
      held.cancel()
    }
  }
#endif
