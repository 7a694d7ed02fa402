#if Combine
  import Foundation
  import OpenCombine
  import SchedulerCombine
  import TestSupport
  import Testing

  @Suite("BehaviorSubject", .nothingIsLeft) struct BehaviorSubjectTests {
    @Test("a new subscriber gets the value, then each that is sent; a late one the end alone") func values() {
      let subject = BehaviorSubject<Int, Never>(1), early = Recorder<Int, Never>(), late = Recorder<Int, Never>()
      subject.send(2)
      subject.subscribe(early)
      subject.send(3)
      subject.send(completion: .finished)
      subject.send(4)
      subject.subscribe(late)
      #expect(early.values == [2, 3] && early.ends == [.finished] && early.broken.isEmpty)
      #expect(late.values == [] && late.ends == [.finished] && subject.value == 3)
    }

    @Test("a value that is set from inside of a call comes after it") func reentrancy() {
      let subject = BehaviorSubject<Int, Never>(0)
      let recorder = Recorder<Int, Never> { _, value in
        if value < 1_000 { subject.send(value + 1) }
        return .none
      }
      subject.subscribe(recorder)
      #expect(recorder.values == Array(0...1_000) && recorder.broken.isEmpty)
      recorder.cancel()
    }

    @Test("subscribers of the values of three threads end with one value, and demand leaves nothing out") func threads()
    {
      let queue = ConcurrentScheduler(name: "behaviour"), subject = BehaviorSubject<Int, Never>(-1)
      let recorders = (0..<4).map { _ in Recorder<Int, Never>(.max(1)) { _, _ in .max(1) } }
      for recorder in recorders { subject.subscribe(recorder) }
      let sending = (0..<3).map { part in queue.schedule { for value in 0..<200 { subject.send(part * 200 + value) } } }
      #expect(eventually { sending.allSatisfy(\.isDisposed) })
      subject.send(completion: .finished)
      for recorder in recorders {
        #expect(eventually { recorder.hasEnded })
        #expect(recorder.values == recorders[0].values && recorder.values.count == 601 && recorder.broken.isEmpty)
        #expect(recorder.values.last == subject.value)
      }
    }

    @Test("values that are sent from inside of a call have a constant stack") func flat() {
      let subject = BehaviorSubject<Int, Never>(0), sum = Sum(), count = Scale.count(250_000)
      withSmallStack {
        let held = subject.sink { value in
          sum.value += 1
          if value < count { subject.send(value + 1) }
        }
        held.cancel()
      }
      #expect(sum.value == count + 1 && subject.value == count)
    }

    @Test("many values") func many() {
      let subject = BehaviorSubject<Int, Never>(0), sum = Sum(), count = manyValues
      let held = subject.sink { sum.value += $0 }
      for value in 1..<count { subject.send(value) }
      #expect(sum.value == count * (count - 1) / 2 && subject.value == count - 1)
      held.cancel()
    }
  }
#endif
