import Dispatch
import Scheduler

private struct Just: EventSource {
  let scheduler: SerialScheduler?

  func subscribe(_ handler: @escaping @Sendable (Event<Int>) -> Void) -> any Disposable {
    @Sendable func say() {
      handler(.next(1))
      handler(.completed)
    }
    if let scheduler { return scheduler.schedule(say) }
    say()
    return Disposables.create()
  }
}

private let queue = SerialScheduler(name: "source")

private func wait(for source: Just) -> @Sendable (Int) -> Double {
  { count in time { for _ in 0..<count { precondition((try? source.toBlocking().first()) == 1) } } }
}

let blockingRows = [
  Row(
    id: "B1", work: "toBlocking of a source that is over at once",
    contenders: [.ours("toBlocking", wait(for: Just(scheduler: nil)))],
    targets: [.fixed(6_482 / 10, "≤648: 1/10 of RxBlocking's 6482 on the reference machine")]),
  Row(
    id: "B1s", work: "toBlocking of a source on a serial queue",
    contenders: [
      .ours("toBlocking", wait(for: Just(scheduler: queue))),
      .dispatch(
        "serial async, semaphore",
        { count in
          time {
            for _ in 0..<count {
              let done = DispatchSemaphore(value: 0)
              serial.async { done.signal() }
              done.wait()
            }
          }
        }),
    ],
    targets: [
      .limit("L3", 1.5), .fixed(22_246 / 3, "≤7415: 1/3 of RxBlocking's 22246 on the reference machine"),
    ]),
]
