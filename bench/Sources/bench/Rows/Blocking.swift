import BenchKit
import Dispatch
import Scheduler

private let queue = SerialScheduler(name: "source")

private let atOnce: @Sendable (Int) -> Double = { count in
  time {
    for _ in 0..<count {
      let source = BlockingObservable { next, end in
        if next(1) { end(nil) }
        return AnyDisposable()
      }
      precondition((try? source.first()) == 1)
    }
  }
}

private let fromQueue: @Sendable (Int) -> Double = { count in
  time {
    for _ in 0..<count {
      let source = BlockingObservable { next, end in queue.schedule { if next(1) { end(nil) } } }
      precondition((try? source.first()) == 1)
    }
  }
}

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
    "B1", "a blocking wait for a source that is over at once", [.ours("BlockingObservable", atOnce)],
    targets: [.scaled(330)], references: ["RxBlocking 6482 ns on another machine"]),
  Row(
    "B1s", "a blocking wait for a source on a serial queue",
    [.ours("BlockingObservable", fromQueue), .dispatch("serial async, semaphore", dispatched)],
    targets: [.limit("L3", 1.5)], references: ["RxBlocking 22246 ns on another machine"]),
  Row(
    "B1s-pinned", "the same, the caller and the workers each on a processor of their own",
    [
      Contender("BlockingObservable", .ours, pinned(fromQueue)),
      Contender("serial async, semaphore", .dispatch, pinned(dispatched)),
    ], targets: [.limit("L3-pinned", 1.5)]),
]
