#if Combine
  import CTestSupport
  import OpenCombine
  import SchedulerCombine
  import TestSupport
  import Testing

  @Suite("Command", .nothingIsLeft) struct CommandTests {
    typealias Plain = Command<Int, Int, Failed>

    /// The events of a command, in order.
    final class Events: @unchecked Sendable {
      // Unchecked, because cancellables are not Sendable: they are touched by the test's thread alone.
      let log = Protected<[String]>([])
      private var held: Set<AnyCancellable> = []

      init(_ command: Plain) {
        follow(command.isEnabled, "enabled")
        follow(command.isExecuting, "executing")
        follow(command.values, "value")
        follow(command.errors, "error")
      }

      private func follow<Value>(_ publisher: some Publisher<Value, Never>, _ name: String) {
        publisher.sink(
          receiveCompletion: { [log] _ in log.append("\(name) ends") },
          receiveValue: { [log] value in log.append("\(name) \(value)") }
        ).store(in: &held)
      }

      /// The entries since the last call.
      func take() -> [String] {
        log.withLock { entries in
          defer { entries = [] }
          return entries
        }
      }

      func cancel() { held = [] }
    }

    @Test("one execution at a time: a second one is refused, with an error") func oneAtATime() {
      let clock = TestScheduler(), subject = PassthroughSubject<Int, Failed>(), made = Protected<[Int]>([])
      let command = Plain(on: clock.combine) { input -> PassthroughSubject<Int, Failed> in
        made.append(input)
        return subject
      }
      let events = Events(command), first = Recorder<Int, CommandError<Failed>>(),
        second = Recorder<Int, CommandError<Failed>>()
      clock.run()
      #expect(events.take() == ["enabled true", "executing false"])
      command.execute(1).subscribe(first)
      command.execute(2).subscribe(second)
      #expect(made.read() == [])  // it begins behind the change of isExecuting
      clock.run()
      #expect(events.take() == ["executing true", "enabled false"] && made.read() == [1])
      #expect(second.ends == [.failure(.notEnabled)] && second.values == [])
      subject.send(7)
      subject.send(completion: .finished)
      clock.run()
      #expect(events.take() == ["value 7", "executing false", "enabled true"])
      #expect(first.values == [7] && first.ends == [.finished] && first.broken.isEmpty)
      command.execute(3)
      clock.run()
      #expect(made.read() == [1, 3])
      subject.send(completion: .finished)
      clock.run()
      events.cancel()
    }

    @Test("several at a time where that is allowed, and isExecuting is false behind the last") func concurrent() {
      let clock = TestScheduler(), subjects = (0..<3).map { _ in PassthroughSubject<Int, Failed>() }
      let command = Plain(on: clock.combine) { subjects[$0] }
      let events = Events(command)
      #expect(!command.allowsConcurrentExecution)
      command.allowsConcurrentExecution = true
      for index in 0..<3 { command.execute(index) }
      clock.run()
      #expect(events.take() == ["enabled true", "executing false", "executing true"])
      for (index, subject) in subjects.enumerated() { subject.send(index) }
      command.allowsConcurrentExecution = false  // running executions continue
      for subject in subjects.reversed() { subject.send(completion: .finished) }
      clock.run()
      #expect(
        events.take().sorted() == ["enabled false", "enabled true", "executing false", "value 0", "value 1", "value 2"])
      events.cancel()
    }

    @Test("its publisher enables and disables it, and a running execution continues") func enabled() {
      let clock = TestScheduler(), isAllowed = PassthroughSubject<Bool, Never>(),
        subject = PassthroughSubject<Int, Failed>()
      let command = Plain(enabledIf: isAllowed, on: clock.combine) { _ in subject }
      let events = Events(command)
      clock.run()
      #expect(events.take() == ["enabled true", "executing false"])  // its publisher has sent nothing yet
      command.execute(1)
      isAllowed.send(false)
      isAllowed.send(true)
      isAllowed.send(false)
      clock.run()
      #expect(events.take() == ["executing true", "enabled false"])
      subject.send(completion: .finished)
      clock.run()
      let refused = Recorder<Int, CommandError<Failed>>()
      command.execute(1).subscribe(refused)
      clock.run()
      #expect(refused.ends == [.failure(.notEnabled)])
      isAllowed.send(completion: .finished)  // the last word stays
      command.execute(1).subscribe(Recorder<Int, CommandError<Failed>>())
      clock.run()
      #expect(events.take() == ["executing false"])
      events.cancel()
    }

    @Test("a failure is delivered to the execution and to errors, and the command continues") func failures() {
      let clock = TestScheduler(), recorder = Recorder<Int, CommandError<Failed>>()
      let command = Plain(on: clock.combine) { Just($0).setFailureType(to: Failed.self).append(Fail(error: Failed())) }
      let events = Events(command)
      clock.run()
      _ = events.take()
      for input in 1...2 {
        let execution = command.execute(input)
        clock.run()
        if input == 2 { execution.subscribe(recorder) }  // a late subscriber gets all of it
        clock.run()
        #expect(
          events.take() == [
            "executing true", "enabled false", "value \(input)", "error Failed()", "executing false", "enabled true",
          ])
      }
      #expect(recorder.values == [2] && recorder.ends == [.failure(.failed(Failed()))])
      events.cancel()
    }

    @Test("of eight threads that begin at the same time one wins, again and again") func race() {
      let queue = SerialScheduler(name: "command"), pool = ConcurrentScheduler(name: "users")
      let begun = Protected(0), refused = Protected(0)
      let command = Plain(on: queue.combine) { _ -> Empty<Int, Failed> in
        begun.withLock { $0 += 1 }
        return Empty(completeImmediately: false)
      }
      for round in 1...Scale.count(50) {
        let executions = Protected<[SharedPublisher<Int, CommandError<Failed>>]>([])
        let users = (0..<8).map { _ in pool.schedule { executions.append(command.execute(round)) } }
        #expect(eventually { users.allSatisfy(\.isDisposed) })
        let held = executions.read().map {
          $0.sink(receiveCompletion: { _ in refused.withLock { $0 += 1 } }, receiveValue: { _ in })
        }
        #expect(eventually { begun.read() == round && refused.read() == 7 * round })
        for execution in executions.read() { execution.cancel() }
        for one in held { one.cancel() }
      }
    }

    @Test("without a scheduler it begins, and delivers all, on the main one") func onMain() {
      ctest_host_main_loop()
      let elsewhere = Protected<[String]>([]), calls = Protected(0), ended = Protected(false)
      @Sendable func look(_ name: String) {
        calls.withLock { $0 += 1 }
        if Schedulers.current !== SchedulerCombine.MainScheduler.instance { elsewhere.append(name) }
      }
      let queue = ConcurrentScheduler(name: "work")
      let command = Plain { input -> AnyPublisher<Int, Failed> in
        look("begin")
        return [input, input].publisher.setFailureType(to: Failed.self).receive(on: queue.combine)
          .append(Fail(error: Failed())).eraseToAnyPublisher()
      }
      var held: Set<AnyCancellable> = []
      command.isEnabled.sink { _ in look("enabled") }.store(in: &held)
      command.isExecuting.sink { _ in look("executing") }.store(in: &held)
      command.values.sink { _ in look("value") }.store(in: &held)
      command.errors.sink { _ in look("error") }.store(in: &held)
      command.execute(1).sink(
        receiveCompletion: { _ in
          look("end")
          ended.write(true)
        }, receiveValue: { _ in look("value of the execution") }
      ).store(in: &held)
      #expect(eventually { ended.read() && calls.read() == 13 })
      #expect(elsewhere.read() == [])
      held = []
    }

    @Test(
      "an execution gets its subscriber's demand, and is cancelled from inside of a call",
      arguments: Kind.timed)
    func demand(_ kind: Kind) throws {
      let made = try kind.make(), gone = Protected(0), sent = Protected(0), isExecuting = Protected<[Bool]>([])
      do {
        let command = Plain(on: made.view) { [tracked = Tracked(gone)] first in
          (first...).publisher.setFailureType(to: Failed.self).handleEvents(receiveOutput: { _ in
            withExtendedLifetime(tracked) { sent.withLock { $0 += 1 } }
          })
        }
        let held = command.isExecuting.sink { isExecuting.append($0) }
        let recorder = Recorder<Int, CommandError<Failed>>(.max(2)) { recorder, value in
          if value == 9 { recorder.cancel() }
          return value < 7 ? .none : .max(1)
        }
        command.apply(5).subscribe(recorder)
        #expect(made.until { recorder.count.read() == 2 })
        #expect(sent.read() == 2)
        recorder.request(.max(1))
        #expect(made.until { recorder.count.read() == 5 && isExecuting.read() == [false, true, false] })
        #expect(recorder.values == [5, 6, 7, 8, 9] && sent.read() == 5 && recorder.broken.isEmpty)
        held.cancel()
      }
      #expect(made.until { gone.read() == 1 })
    }

    @Test("one that is cancelled before it begins is not made, and its input is released") func cancelled() {
      let clock = TestScheduler(), gone = Protected(0), made = Protected(0)
      let command = Command<Tracked, Int, Never>(on: clock.combine) { _ in
        made.withLock { $0 += 1 }
        return Just(1)
      }
      command.execute(Tracked(gone)).cancel()
      #expect(gone.read() == 1 && clock.pendingCount == 0)
      clock.run()
      #expect(made.read() == 0)
      command.execute(Tracked(gone))  // enabled again; there is no subscriber
      clock.run()
      #expect(made.read() == 1 && gone.read() == 2)
    }

    @Test("the next may begin from inside of the end of one") func chain() {
      let queue = SerialScheduler(name: "chain"), count = Protected(0), done = Protected(false)
      let command = Command<Int, Int, Never>(on: queue.combine) { Just($0) }
      @Sendable func next(_ number: Int) {
        let recorder = Ender<Int, CommandError<Never>> {
          count.withLock { $0 += 1 }
          if number < 500 { next(number + 1) } else { done.write(true) }
        }
        command.execute(number).subscribe(recorder)
      }
      next(1)
      #expect(eventually { done.read() } && count.read() == 500)
    }

    @Test("running executions continue without their command, and then all complete") func released() {
      let clock = TestScheduler(), subject = PassthroughSubject<Int, Failed>(), events: Events
      do {
        let command = Plain(enabledIf: Just(true), on: clock.combine) { _ in subject }
        events = Events(command)
        command.execute(1)
        clock.run()
        _ = events.take()
      }
      clock.run()
      #expect(events.take() == [])
      subject.send(1)
      subject.send(completion: .finished)
      clock.run()
      #expect(
        events.take().sorted() == [
          "enabled ends", "enabled true", "error ends", "executing ends", "executing false", "value 1", "value ends",
        ])
      events.cancel()
    }

    @Test("many values, and a subscriber that takes one value at a time") func many() {
      let queue = SerialScheduler(name: "million"), sum = Sum(), count = manyValues / 4, values = Protected(0)
      let command = Command<Int, Int, Never>(on: queue.combine) { (0..<$0).publisher }
      let held = command.values.sink { _ in values.withLock { $0 += 1 } }
      let recorder = Recorder<Int, CommandError<Never>>(.max(1), keeps: false) { _, value in
        sum.value += value
        return .max(1)
      }
      command.apply(count).subscribe(recorder)
      #expect(eventually { recorder.hasEnded && values.read() == count })
      #expect(sum.value == count * (count - 1) / 2 && recorder.broken.isEmpty)
      held.cancel()
    }
  }

  /// Calls a closure at the end, from inside of it.
  private final class Ender<Input, Failure: Error>: Subscriber {
    let end: () -> Void
    init(_ end: @escaping () -> Void) { self.end = end }
    func receive(subscription: any Subscription) { subscription.request(.unlimited) }
    func receive(_ input: Input) -> Subscribers.Demand { .none }
    func receive(completion: Subscribers.Completion<Failure>) { end() }
  }
#endif
