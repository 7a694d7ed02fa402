#if Combine
  import OpenCombine
  import SchedulerCombine
  import TestSupport
  import Testing

  /// The operators whose results depend on time, to the millisecond.
  @Suite("Operators in virtual time", .nothingIsLeft) struct VirtualTimeTests {
    /// The events, and their times.
    final class Seen: @unchecked Sendable {
      // Unchecked, because a subject is not Sendable: it is sent to by one thread.
      let clock = TestScheduler()
      let log = Protected<[String]>([])
      let source = PassthroughSubject<Int, Failed>()
      var view: CombineScheduler { clock.combine }
      var milliseconds: UInt64 { clock.now.nanoseconds / 1_000_000 }

      /// Sends each value at its time, then the end.
      func send(_ events: [(Int, Int)], end: Int? = nil) {
        for (time, value) in events {
          clock.schedule(after: .milliseconds(time)) { [unowned self] in source.send(value) }
        }
        if let end {
          clock.schedule(after: .milliseconds(end)) { [unowned self] in source.send(completion: .finished) }
        }
      }

      /// Subscribes, lets all time pass, and returns the events.
      func run<Value>(_ publisher: some Publisher<Value, Failed>) -> [String] {
        let held = publisher.sink(
          receiveCompletion: { [unowned self] in log.append("\($0) at \(milliseconds)") },
          receiveValue: { [unowned self] in log.append("\($0) at \(milliseconds)") })
        clock.run()
        held.cancel()
        #expect(clock.pendingCount == 0)
        return log.read()
      }
    }

    @Test("delay moves each event, the end too") func delay() {
      let seen = Seen()
      seen.send([(0, 1), (10, 2), (10, 3)], end: 15)
      #expect(
        seen.run(seen.source.delay(for: .milliseconds(100), scheduler: seen.view)) == [
          "1 at 100", "2 at 110", "3 at 110", "finished at 115",
        ])
    }

    @Test("debounce delivers the last of each burst") func debounce() {
      let seen = Seen()
      seen.send([(0, 1), (5, 2), (9, 3), (40, 4), (90, 5)], end: 95)
      // 5 was not due when the end came.
      #expect(
        seen.run(seen.source.debounce(for: .milliseconds(10), scheduler: seen.view)) == [
          "3 at 19", "4 at 50", "finished at 95",
        ])
    }

    @Test("debounce keeps the latest value until there is demand") func debounceDemand() {
      let seen = Seen(), recorder = Recorder<Int, Failed>(.none)
      seen.send([(0, 1), (50, 2)])
      seen.source.debounce(for: .milliseconds(10), scheduler: seen.view).subscribe(recorder)
      seen.clock.run()
      #expect(recorder.values == [])
      recorder.request(.max(1))
      seen.clock.run()
      #expect(recorder.values == [2] && recorder.broken.isEmpty)
      recorder.cancel()
    }

    @Test("throttle delivers the first at once, then the latest, or the first, of each interval") func throttle() {
      for (latest, expected) in [
        (true, ["1 at 0", "3 at 10", "4 at 30", "6 at 40", "finished at 40"]),
        (false, ["1 at 0", "2 at 10", "4 at 30", "5 at 40", "finished at 40"]),
      ] {
        let seen = Seen()
        seen.send([(0, 1), (4, 2), (8, 3), (30, 4), (31, 5), (32, 6)], end: 35)
        #expect(
          seen.run(seen.source.throttle(for: .milliseconds(10), scheduler: seen.view, latest: latest)) == expected)
      }
    }

    @Test("timeout ends a publisher that is silent for too long, behind its values") func timeout() {
      let seen = Seen()
      seen.send([(0, 1), (9, 2), (18, 3), (40, 4)])
      #expect(
        seen.run(seen.source.timeout(.milliseconds(10), scheduler: seen.view)) == [
          "1 at 0", "2 at 9", "3 at 18", "finished at 28",
        ])
      let failing = Seen()
      #expect(
        failing.run(failing.source.timeout(.milliseconds(10), scheduler: failing.view) { Failed() }) == [
          "failure(SchedulerCombineTests.Failed()) at 10"
        ])
      let ending = Seen()
      ending.send([(5, 1)], end: 6)
      #expect(
        ending.run(ending.source.timeout(.milliseconds(10), scheduler: ending.view)) == ["1 at 5", "finished at 6"])
    }

    @Test("measureInterval measures by the scheduler's clock") func measureInterval() {
      let seen = Seen()
      seen.send([(3, 1), (10, 2)], end: 20)
      #expect(
        seen.run(seen.source.measureInterval(using: seen.view).map(\.duration)) == [
          "0.003 seconds at 3", "0.007 seconds at 10", "finished at 20",
        ])
    }

    @Test("measureInterval on each kind of scheduler", arguments: Kind.all) func measured(_ kind: Kind) throws {
      let made = try kind.make(), recorder = Recorder<Stride, Never>()
      (0..<20).publisher.measureInterval(using: made.view).subscribe(recorder)
      #expect(recorder.values.count == 20 && recorder.values.allSatisfy { $0 >= 0 } && recorder.broken.isEmpty)
    }

    @Test("a value that becomes due during the end is not lost") func endRace() {
      for round in 0..<Scale.count(200) {
        let queue = SerialScheduler(name: "end"), source = PassthroughSubject<Int, Never>()
        let latest = Recorder<Int, Never>(), first = Recorder<Int, Never>(), waiting = Recorder<Int, Never>()
        let time = Stride.microseconds(1 + round % 50)
        source.throttle(for: time, scheduler: queue.combine, latest: true).subscribe(latest)
        source.throttle(for: time, scheduler: queue.combine, latest: false).subscribe(first)
        source.throttle(for: time, scheduler: queue.combine) { $0 % 3 != 0 }.subscribe(waiting)
        for value in 0..<11 { source.send(value) }
        source.send(completion: .finished)
        #expect(eventually { latest.hasEnded && first.hasEnded && waiting.hasEnded })
        #expect(latest.values.last == 10 && first.values.first == 0)
        #expect(waiting.values.last == 10 && Set(waiting.values).isSuperset(of: [0, 3, 6, 9]))
        for recorder in [latest, first, waiting] {
          #expect(recorder.values == recorder.values.sorted() && recorder.broken.isEmpty)
        }
      }
    }

    @Test("debounce and throttle on each kind of scheduler: the last value comes", arguments: Kind.timed)
    func last(_ kind: Kind) throws {
      let made = try kind.make(), debounced = Recorder<Int, Never>(), throttled = Recorder<Int, Never>()
      let subject = CurrentValueSubject<Int, Never>(0)
      subject.debounce(for: .milliseconds(1), scheduler: made.view).subscribe(debounced)
      subject.throttle(for: .milliseconds(1), scheduler: made.view, latest: true).subscribe(throttled)
      for value in 1...1_000 { subject.value = value }
      #expect(made.until { debounced.values.last == 1_000 && throttled.values.last == 1_000 })
      #expect(throttled.values == throttled.values.sorted() && debounced.broken.isEmpty && throttled.broken.isEmpty)
      debounced.cancel()
      throttled.cancel()
    }
  }
#endif
