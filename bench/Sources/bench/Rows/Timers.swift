import BenchKit
import CBench
import Dispatch
import NIOCore
import Scheduler

/// Milliseconds: a minute, up to a thousand seconds more. Drawn beforehand.
nonisolated(unsafe) private let spans: UnsafeMutablePointer<Int> = {
  let spans = UnsafeMutablePointer<Int>.allocate(capacity: 1 << 16)
  var state: UInt64 = 1
  for i in 0..<(1 << 16) { spans[i] = 60_000 + Int(cbench_random(&state) % 1_000_000) }
  return spans
}()

private func farAway(_ i: Int) -> Int { spans[i & 0xFFFF] }

/// The time of an insert and its cancel, as the caller sees it; samples of a process of its own, the first one left
/// out. Each has numbers of its own, and so spans.
private func samples(_ count: Int = 2_000, _ each: (Range<Int>) -> Double, between: () -> Void = {}) -> [Double] {
  (0..<16).map { sample in
    defer { between() }
    return each(sample * count..<(sample + 1) * count) / Double(count)
  }.suffix(15)
}

private func ours(_ pending: Int) -> [Double] {
  for i in 0..<pending { thread.schedule(after: .milliseconds(farAway(i))) {} }
  return samples { numbers in
    time { for i in numbers { thread.schedule(after: .milliseconds(farAway(i))) {}.dispose() } }
  }
}

private func source(_ i: Int) -> any DispatchSourceTimer {
  let source = DispatchSource.makeTimerSource(queue: serial)
  source.setEventHandler {}
  source.schedule(deadline: .now() + .milliseconds(farAway(i)))
  source.resume()
  return source
}

nonisolated(unsafe) private var waiting: [any DispatchSourceTimer] = []  // until the process ends

/// `untilGone`: with what the queue does about the cancellation, which is most of it.
private func sources(_ pending: Int, untilGone: Bool) -> [Double] {
  waiting = (0..<pending).map { source($0) }
  serial.sync {}
  return samples(
    2_000,
    { numbers in
      time {
        for i in numbers { source(i).cancel() }
        if untilGone { serial.sync {} }
      }
    }, between: { serial.sync {} })
}

private func items(_ pending: Int) -> [Double] {
  func item(_ i: Int) -> DispatchWorkItem {
    let item = DispatchWorkItem {}
    serial.asyncAfter(deadline: .now() + .milliseconds(farAway(i)), execute: item)
    return item
  }
  for i in 0..<pending { _ = item(i) }
  serial.sync {}
  // What is cancelled goes on waiting for its time.
  return samples(2_000, { numbers in time { for i in numbers { item(i).cancel() } } }, between: { serial.sync {} })
}

private func nioTasks(_ pending: Int) -> [Double] {
  func flush() { try? nioLoop.submit {}.wait() }
  try? nioLoop.submit {
    for i in 0..<pending { nioLoop.scheduleTask(in: .milliseconds(Int64(farAway(i)))) {} }
  }.wait()
  // Cancelling is a search among all that wait.
  return samples(
    pending > 10_000 ? 8 : 2_000,
    { numbers in
      time { for i in numbers { nioLoop.scheduleTask(in: .milliseconds(Int64(farAway(i)))) {}.cancel() } }
    }, between: flush)
}

/// The rows for `pending` timers that wait. The larger the number, the fewer the rounds: most of the time is its
/// preparation.
private func rows(_ name: String, _ pending: Int, rounds: Int, peerRounds: Int, also: [Target] = []) -> [Row] {
  func inC(_ body: @escaping @Sendable (Int32, Int, Int) -> Double) -> (Int32) -> Measure {
    { timers in .aside(rounds: rounds, counted: false) { samples { body(timers, pending, $0.count) } } }
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
