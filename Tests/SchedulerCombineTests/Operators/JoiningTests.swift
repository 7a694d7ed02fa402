#if Combine
  import OpenCombine
  import SchedulerCombine
  import TestSupport
  import Testing

  @Suite("merge and combineLatest", .nothingIsLeft) struct JoiningTests {
    @Test("merge delivers all of each, and ends with the last") func merge() {
      let first = PassthroughSubject<Int, Never>(), second = PassthroughSubject<Int, Never>()
      let recorder = Recorder<Int, Never>()
      first.merge(with: second, Just(0), [8, 9].publisher).subscribe(recorder)
      first.send(1)
      second.send(2)
      first.send(completion: .finished)
      #expect(!recorder.hasEnded)
      second.send(3)
      second.send(completion: .finished)
      #expect(recorder.values == [0, 8, 9, 1, 2, 3] && recorder.ends == [.finished] && recorder.broken.isEmpty)
    }

    @Test("merge of none ends at once, and the first failure ends it") func mergeEnds() {
      let none = Recorder<Int, Never>(), failed = Recorder<Int, Failed>()
      Publishers.MergeMany([Just<Int>]()).subscribe(none)
      #expect(none.ends == [.finished])
      let cancelled = Protected(false)
      let open = PassthroughSubject<Int, Failed>().handleEvents(receiveCancel: { cancelled.write(true) })
      open.merge(with: Fail(error: Failed())).subscribe(failed)
      #expect(failed.ends == [.failure(Failed())] && cancelled.read())
    }

    @Test("merge requests one value at a time of each, and loses none") func mergeDemand() {
      let sent = Protected([0, 0]), recorder = Recorder<Int, Never>(.max(4))
      func source(_ index: Int) -> some Publisher<Int, Never> {
        (0...).publisher.handleEvents(receiveOutput: { _ in sent.withLock { $0[index] += 1 } }).map { $0 * 2 + index }
      }
      source(0).merge(with: source(1)).subscribe(recorder)
      #expect(recorder.count.read() == 4 && sent.read().reduce(0, +) <= 6)
      recorder.request(.max(6))
      #expect(recorder.count.read() == 10 && sent.read().reduce(0, +) <= 12 && recorder.broken.isEmpty)
      for index in 0..<2 {
        let mine = recorder.values.filter { $0 % 2 == index }
        #expect(mine == (0..<mine.count).map { $0 * 2 + index })
      }
      recorder.cancel()
    }

    @Test("a merge delivers each value of four threads once, one at a time") func mergeThreads() {
      let queue = ConcurrentScheduler(name: "merge"), recorder = Recorder<Int, Never>(.max(1)) { _, _ in .max(1) }
      Publishers.MergeMany(
        (0..<4).map { part in (part * 1_000..<part * 1_000 + 1_000).publisher.receive(on: queue.combine) }
      )
      .subscribe(recorder)
      #expect(eventually { recorder.hasEnded })
      #expect(recorder.values.sorted() == Array(0..<4_000) && recorder.broken.isEmpty)
    }

    @Test("combineLatest delivers the latest of each, once all have one") func combineLatest() {
      let numbers = PassthroughSubject<Int, Never>(), words = PassthroughSubject<String, Never>()
      let recorder = Recorder<String, Never>()
      numbers.combineLatest(words) { "\($0)\($1)" }.subscribe(recorder)
      numbers.send(1)
      numbers.send(2)
      words.send("a")
      numbers.send(3)
      words.send("b")
      numbers.send(completion: .finished)
      words.send("c")
      words.send(completion: .finished)
      #expect(recorder.values == ["2a", "3a", "3b", "3c"] && recorder.ends == [.finished] && recorder.broken.isEmpty)
    }

    @Test("combineLatest of four, and one that ends without a value") func combineLatestEnds() {
      let four = Recorder<[Int], Never>()
      Just(1).combineLatest(Just(2), Just(3), Just(4)).map { [$0.0, $0.1, $0.2, $0.3] }.subscribe(four)
      #expect(four.values == [[1, 2, 3, 4]] && four.ends == [.finished])
      let none = Recorder<(Int, Int), Never>(), open = PassthroughSubject<Int, Never>()
      open.combineLatest(Empty<Int, Never>()).subscribe(none)
      #expect(none.ends == [.finished])
    }

    @Test("combineLatest delivers no more than the demand, and leaves nothing out") func combineLatestDemand() {
      let recorder = Recorder<(Int, Int), Never>(.max(3))
      (0...).publisher.combineLatest((0...).publisher).subscribe(recorder)
      #expect(recorder.count.read() == 3)
      recorder.request(.max(4))
      #expect(recorder.count.read() == 7 && recorder.broken.isEmpty)
      let values = recorder.values
      for (old, new) in zip(values, values.dropFirst()) {
        #expect(new.0 + new.1 == old.0 + old.1 + 1, "one of the two, and its next value")
      }
      recorder.cancel()
    }

    @Test("combineLatest requests again of one side when the other is silent") func combineLatestSilent() {
      let silent = CurrentValueSubject<Int, Never>(7),
        recorder = Recorder<(Int, Int), Never>(.max(1)) { _, _ in .max(1) }
      silent.combineLatest((0..<100).publisher).subscribe(recorder)
      #expect(recorder.count.read() == 100)
      recorder.cancel()
    }

    @Test("nothing is kept after a cancellation from inside of a call") func cancelInside() {
      let gone = Protected(0)
      do {
        let left = PassthroughSubject<Tracked, Never>(), right = PassthroughSubject<Tracked, Never>()
        let merged = Recorder<Tracked, Never>(keeps: false) { recorder, _ in
          recorder.cancel()
          return .none
        }
        left.merge(with: right).subscribe(merged)
        let latest = Recorder<(Tracked, Tracked), Never>(keeps: false) { recorder, _ in
          recorder.cancel()
          return .none
        }
        left.combineLatest(right).subscribe(latest)
        left.send(Tracked(gone))
        right.send(Tracked(gone))
        #expect(gone.read() == 2 && merged.count.read() == 1 && latest.count.read() == 1)
      }
    }

    @Test("many values through merge and combineLatest") func many() {
      let merged = Sum(), latest = Sum(), count = manyValues / 2
      let merging = (0..<count).publisher.merge(with: (0..<count).publisher)
        .sink(receiveCompletion: { _ in merged.hasEnded.write(true) }, receiveValue: { merged.value += $0 })
      let combining = Just(1).combineLatest((0..<count).publisher)
        .sink(receiveCompletion: { _ in latest.hasEnded.write(true) }, receiveValue: { latest.value += $0.0 + $0.1 })
      #expect(merged.hasEnded.read() && merged.value == count * (count - 1))
      #expect(latest.hasEnded.read() && latest.value == count * (count - 1) / 2 + count)
      merging.cancel()
      combining.cancel()
    }
  }
#endif
