import BenchKit
import Dispatch
import Scheduler

private struct Just: EventSource {
  let isScheduled: Bool

  func subscribe(_ handler: @escaping @Sendable (SourceEvent<Int>) -> Void) -> any Disposable {
    @Sendable func say() {
      handler(.next(1))
      handler(.completed)
    }
    if isScheduled { return queue.schedule(say) }
    say()
    return Disposables.create()
  }
}

private let queue = SerialScheduler(name: "source")

private func wait(for source: Just) -> @Sendable (Int) -> Double {
  { count in time { for _ in 0..<count { precondition((try? source.toBlocking().first()) == 1) } } }
}

private let fromQueue = wait(for: Just(isScheduled: true))

private let dispatched: @Sendable (Int) -> Double = { count in
  time {
    for _ in 0..<count {
      let done = DispatchSemaphore(value: 0)
      serial.async { done.signal() }
      done.wait()
    }
  }
}

/// Samples of a process whose workers are made on one processor, and who waits on another.
private func pinned(_ body: @escaping @Sendable (Int) -> Double) -> Measure {
  apart({ _ = body(100) }) { (0..<10).map { _ in body(200) / 200 } }
}

let blockingRows = [
  Row(
    "B1", "toBlocking of a source that is over at once", [.ours("toBlocking", wait(for: Just(isScheduled: false)))],
    targets: [.scaled(330)], references: ["RxBlocking 6482 ns on another machine"]),
  Row(
    "B1s", "toBlocking of a source on a serial queue",
    [.ours("toBlocking", fromQueue), .dispatch("serial async, semaphore", dispatched)],
    targets: [.limit("L3", 1.5)], references: ["RxBlocking 22246 ns on another machine"]),
  Row(
    "B1s-pinned", "the same, the caller and the workers each on a processor of their own",
    [
      Contender("toBlocking", .ours, pinned(fromQueue)),
      Contender("serial async, semaphore", .dispatch, pinned(dispatched)),
    ], targets: [.limit("L3-pinned", 1.5)]),
]
