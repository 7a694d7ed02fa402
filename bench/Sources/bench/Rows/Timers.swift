import BenchKit
import CBench
import Dispatch
import NIOCore
import Scheduler

/// A minute from now, up to a thousand seconds later.
private func farAway() -> Int { Int.random(in: 60_000...1_060_000, using: &generator) }

private struct Generator: RandomNumberGenerator {
  var state: UInt64 = 1
  mutating func next() -> UInt64 { cbench_random(&state) << 16 ^ cbench_random(&state) }
}
nonisolated(unsafe) private var generator = Generator()  // one thread uses it

/// The time of an insert and its cancel, as the caller sees it; samples of a process of its own, the first one left out.
private func samples(_ count: Int = 2_000, _ each: (Int) -> Double, between: () -> Void = {}) -> [Double] {
  (0..<16).map { _ in
    defer { between() }
    return each(count) / Double(count)
  }.suffix(15)
}

private func ours(_ pending: Int) -> [Double] {
  for _ in 0..<pending { thread.schedule(after: .milliseconds(farAway())) {} }
  return samples { count in
    time { for _ in 0..<count { thread.schedule(after: .milliseconds(farAway())) {}.dispose() } }
  }
}

private func source() -> any DispatchSourceTimer {
  let source = DispatchSource.makeTimerSource(queue: serial)
  source.setEventHandler {}
  source.schedule(deadline: .now() + .milliseconds(farAway()))
  source.resume()
  return source
}

nonisolated(unsafe) private var waiting: [any DispatchSourceTimer] = []  // until the process ends

/// `untilGone`: with what the queue does about the cancellation, which is most of it.
private func sources(_ pending: Int, untilGone: Bool) -> [Double] {
  waiting = (0..<pending).map { _ in source() }
  serial.sync {}
  return samples(
    2_000,
    { count in
      time {
        for _ in 0..<count { source().cancel() }
        if untilGone { serial.sync {} }
      }
    }, between: { serial.sync {} })
}

private func items(_ pending: Int) -> [Double] {
  func item() -> DispatchWorkItem {
    let item = DispatchWorkItem {}
    serial.asyncAfter(deadline: .now() + .milliseconds(farAway()), execute: item)
    return item
  }
  for _ in 0..<pending { _ = item() }
  serial.sync {}
  // What is cancelled goes on waiting for its time.
  return samples(2_000, { count in time { for _ in 0..<count { item().cancel() } } }, between: { serial.sync {} })
}

private func nioTasks(_ pending: Int) -> [Double] {
  func flush() { try? nioLoop.submit {}.wait() }
  try? nioLoop.submit {
    for _ in 0..<pending { nioLoop.scheduleTask(in: .milliseconds(Int64(farAway()))) {} }
  }.wait()
  // Cancelling is a search among all that wait.
  return samples(
    pending > 10_000 ? 8 : 2_000,
    { count in
      time { for _ in 0..<count { nioLoop.scheduleTask(in: .milliseconds(Int64(farAway()))) {}.cancel() } }
    }, between: flush)
}

/// The rows for `pending` timers that wait. The larger the number, the fewer the rounds: most of the time is its preparation.
private func rows(_ name: String, _ pending: Int, rounds: Int, peerRounds: Int, also: [Target] = []) -> [Row] {
  func inC(_ body: @escaping @Sendable (Int32, Int, Int) -> Double) -> (Int32) -> Measure {
    { timers in .aside(rounds: rounds, counted: false) { samples { body(timers, pending, $0) } } }
  }
  func inSwift(_ name: String, _ role: Contender.Role, _ body: @escaping @Sendable (Int) -> [Double]) -> Contender {
    Contender(name, role, .aside(rounds: role == .ours ? rounds : peerRounds, counted: false) { body(pending) })
  }
  func bears(_ timers: Int32) -> Bool { cbench_timers_most(timers) == 0 || cbench_timers_most(timers) >= pending }
  return [
    Row(
      "R1c-\(name)", "timer: create the newest, cancel it; \(name) pending; in C",
      contenders(CBENCH_TIMERS, where: bears, inC { cbench_timers_newest($0, $1, $2) }),
      targets: [.limit("L6", 2), .peer("libuv", pending > 1_000 ? 0.5 : 0.9)] + also),
    Row(
      "R1r-\(name)", "timer: cancel one of \(name) at random, insert it again; in C",
      contenders(
        CBENCH_TIMERS, where: { bears($0) && cbench_timers_can_replace($0) }, inC { cbench_timers_replaced($0, $1, $2) }
      ),
      targets: [.best(1)]),
    Row(
      "R1-\(name)",
      """
      timer: insert, cancel; \(name) pending; in Swift. Dispatch's cancel is asynchronous: its call returns before the work is done, which \
      "until gone" has in it
      """,
      [
        inSwift("ThreadScheduler", .ours, ours), inSwift("timer source", .dispatch) { sources($0, untilGone: false) },
        inSwift("timer source until gone", .peer) { sources($0, untilGone: true) },
        inSwift("asyncAfter", .peer, items), inSwift("NIO scheduleTask", .peer, nioTasks),
      ],
      targets: [
        .scaled(90), .peer("timer source", 0.12), .peer("asyncAfter", 0.05), .peer("NIO scheduleTask", 0.05),
      ]),
  ]
}

let timerRows =
  rows("1k", 1_000, rounds: 12, peerRounds: 12)
  + rows("1M", 1_000_000, rounds: 3, peerRounds: 3, also: [.limit("R1c-1k", 3)])
