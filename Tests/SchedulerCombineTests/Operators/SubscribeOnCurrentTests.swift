#if Combine
  import OpenCombine
  import SchedulerCombine
  import TestSupport
  import Testing

  @Suite("subscribeOnCurrent", .nothingIsLeft) struct SubscribeOnCurrentTests {
    @Test("inside of an action it subscribes at once, there") func inside() {
      let queue = SerialScheduler(name: "queue"), scheduler = SubscriptionScheduler()
      let values = queue.sync { () -> [Int] in
        let recorder = Recorder<Int, Never>()
        [1, 2].publisher.handleEvents(receiveOutput: { _ in #expect(Schedulers.current === queue) })
          .subscribeOnCurrent(or: scheduler).subscribe(recorder)
        return recorder.values
      }
      #expect(values == [1, 2])
    }

    @Test("elsewhere it subscribes on the private queue, and values come from there") func elsewhere() {
      let scheduler = SubscriptionScheduler(), recorder = Recorder<Bool, Never>()
      Deferred { Just(Schedulers.current is SerialScheduler) }.subscribeOnCurrent(or: scheduler).subscribe(recorder)
      #expect(eventually { recorder.hasEnded })
      #expect(recorder.values == [true] && recorder.broken.isEmpty)
    }

    @Test("one that is cancelled before it runs does not subscribe, and nothing of it is kept") func cancelled() {
      let scheduler = SubscriptionScheduler(), isOpen = Protected(false), subscribed = Protected(0), gone = Protected(0)
      let gate = scheduler.schedule { _ = eventually { isOpen.read() } }
      do {
        Deferred { [tracked = Tracked(gone)] () -> Just<Int> in
          withExtendedLifetime(tracked) { subscribed.withLock { $0 += 1 } }
          return Just(1)
        }
        .subscribeOnCurrent(or: scheduler).sink { _ in }.cancel()
      }
      #expect(gone.read() == 1)
      isOpen.write(true)
      gate.disposeAndWait()
      let later = Recorder<Int, Never>()
      Just(2).subscribeOnCurrent(or: scheduler).subscribe(later)
      #expect(eventually { later.hasEnded })
      #expect(subscribed.read() == 0)
    }
  }
#endif
