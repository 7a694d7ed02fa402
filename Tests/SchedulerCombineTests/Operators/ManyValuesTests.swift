#if Combine
  import OpenCombine
  import SchedulerCombine
  import TestSupport
  import Testing

  /// How many values a test sends that has no time to lose in a debug build: a million with `SCHEDULER_TEST_SCALE=4`.
  let manyValues = Scale.count(250_000)

  /// What one at a time adds up.
  final class Sum: @unchecked Sendable {
    // Unchecked, because an operator's calls are one after the other, and each sees what was before.
    var value = 0
    let hasEnded = Protected(false)
  }

  @Suite("Many values", .nothingIsLeft) struct ManyValuesTests {
    @Test("through each operator that hands on, with unlimited demand", arguments: SchedulingTests.moves.map(\.name))
    func unlimited(_ name: String) {
      let queue = SerialScheduler(name: "million"), count = manyValues, sum = Sum()
      let move = SchedulingTests.moves.first { $0.name == name }!.move
      let held = move((0..<count).publisher.eraseToAnyPublisher(), queue.combine)
        .sink(receiveCompletion: { _ in sum.hasEnded.write(true) }, receiveValue: { sum.value &+= $0 })
      #expect(eventually { sum.hasEnded.read() })
      #expect(sum.value == count * (count - 1) / 2)
      held.cancel()
    }

    @Test("debounce and throttle have one timer, not one for each value") func timers() {
      let clock = TestScheduler(), subject = PassthroughSubject<Int, Never>()
      let debounced = Recorder<Int, Never>(), throttled = Recorder<Int, Never>()
      subject.debounce(for: 1, scheduler: clock.combine).subscribe(debounced)
      subject.throttle(for: 1, scheduler: clock.combine, latest: true).subscribe(throttled)
      for value in 0..<Scale.count(100_000) { subject.send(value) }
      #expect(clock.pendingCount == 2)
      clock.run()
      #expect(debounced.values == [Scale.count(100_000) - 1] && throttled.values == debounced.values)
      debounced.cancel()
      throttled.cancel()
    }
  }
#endif
