#if Combine
  import OpenCombine
  import SchedulerCombine
  import TestSupport
  import Testing

  @Suite("ReplaySubject", .nothingIsLeft) struct ReplaySubjectTests {
    @Test("a new subscriber gets the last values, then new ones, then the end; a late one the values and the end")
    func replay() {
      let subject = ReplaySubject<Int, Failed>(capacity: 2), early = Recorder<Int, Failed>(),
        late = Recorder<Int, Failed>()
      for value in 1...3 { subject.send(value) }
      subject.subscribe(early)
      #expect(early.values == [2, 3] && subject.values == [2, 3])
      subject.send(4)
      subject.send(completion: .failure(Failed()))
      subject.send(5)
      subject.subscribe(late)
      #expect(early.values == [2, 3, 4] && late.values == [3, 4])
      #expect(
        early.ends == [.failure(Failed())] && late.ends == early.ends && early.broken.isEmpty && late.broken.isEmpty)
    }

    @Test("a replay stops between two values when it is cancelled from inside") func stops() {
      let subject = ReplaySubject<Int, Never>()
      for value in 1...5 { subject.send(value) }
      let recorder = Recorder<Int, Never> { recorder, value in
        if value == 2 { recorder.cancel() }
        return .none
      }
      subject.subscribe(recorder)
      subject.send(6)
      #expect(recorder.values == [1, 2] && recorder.broken.isEmpty)
    }

    @Test("a value that is sent from inside of a replay follows it") func reentrancy() {
      let subject = ReplaySubject<Int, Never>()
      subject.send(1)
      subject.send(2)
      let recorder = Recorder<Int, Never> { _, value in
        if value == 1 { subject.send(3) }
        return .none
      }
      subject.subscribe(recorder)
      #expect(recorder.values == [1, 2, 3] && recorder.broken.isEmpty)
      recorder.cancel()
    }

    @Test("no more is delivered than the demand, and the rest waits") func demand() {
      let subject = ReplaySubject<Int, Never>(), recorder = Recorder<Int, Never>(.max(1))
      for value in 1...3 { subject.send(value) }
      subject.subscribe(recorder)
      #expect(recorder.values == [1])
      subject.send(completion: .finished)
      recorder.request(.max(1))
      #expect(recorder.values == [1, 2] && !recorder.hasEnded)
      recorder.request(.max(1))
      #expect(recorder.values == [1, 2, 3] && recorder.hasEnded && recorder.broken.isEmpty)
    }

    @Test("subscribers that begin while three threads send all see one order") func order() {
      let queue = ConcurrentScheduler(name: "replay"), subject = ReplaySubject<Int, Never>()
      let recorders = (0..<8).map { _ in Recorder<Int, Never>() }
      let sending = (0..<3).map { part in
        queue.schedule { for value in 0..<200 { subject.send(part * 200 + value) } }
      }
      for recorder in recorders { subject.subscribe(recorder) }
      #expect(eventually { sending.allSatisfy(\.isDisposed) })
      subject.send(completion: .finished)
      for recorder in recorders {
        #expect(eventually { recorder.hasEnded })
        #expect(recorder.values == subject.values && recorder.broken.isEmpty)
      }
    }

    @Test("values go with the subject, and with the subscription") func captures() {
      let gone = Protected(0)
      do {
        let subject = ReplaySubject<Tracked, Never>(capacity: 1), recorder = Recorder<Tracked, Never>(.none)
        subject.subscribe(recorder)
        for _ in 0..<3 { subject.send(Tracked(gone)) }
        #expect(gone.read() == 0)  // the subscriber has not requested them yet
        recorder.cancel()
        #expect(gone.read() == 2)
      }
      #expect(gone.read() == 3)
    }
  }
#endif
