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

/// The time of an insert and its cancel, as the caller sees it; the median of some samples, in a process of its own.
private func median(_ count: Int = 2_000, _ each: (Int) -> Double, between: () -> Void = {}) -> Double {
  let samples = (0..<15).map { _ in
    defer { between() }
    return each(count) / Double(count)
  }
  return samples.sorted()[samples.count / 2]
}

private func ours(_ pending: Int) -> Double {
  for _ in 0..<pending { thread.schedule(after: .milliseconds(farAway())) {} }
  return median { count in
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

private func sources(_ pending: Int) -> Double {
  waiting = (0..<pending).map { _ in source() }
  serial.sync {}
  return median(2_000, { count in time { for _ in 0..<count { source().cancel() } } }, between: { serial.sync {} })
}

private func items(_ pending: Int) -> Double {
  func item() -> DispatchWorkItem {
    let item = DispatchWorkItem {}
    serial.asyncAfter(deadline: .now() + .milliseconds(farAway()), execute: item)
    return item
  }
  for _ in 0..<pending { _ = item() }
  serial.sync {}
  // What is cancelled goes on waiting for its time.
  return median(2_000, { count in time { for _ in 0..<count { item().cancel() } } }, between: { serial.sync {} })
}

private func nioTasks(_ pending: Int) -> Double {
  func flush() { try? nioLoop.submit {}.wait() }
  try? nioLoop.submit {
    for _ in 0..<pending { nioLoop.scheduleTask(in: .milliseconds(Int64(farAway()))) {} }
  }.wait()
  // Cancelling is a search among all that wait.
  return median(
    pending > 10_000 ? 8 : 2_000,
    { count in
      time { for _ in 0..<count { nioLoop.scheduleTask(in: .milliseconds(Int64(farAway()))) {}.cancel() } }
    }, between: flush)
}

/// The rows for `pending` timers that wait. The larger the number, the fewer the rounds: most of the time is its preparation.
private func rows(_ name: String, _ pending: Int, rounds: Int, peerRounds: Int, also: Target? = nil) -> [Row] {
  func c(_ body: @escaping @Sendable (Int, Int) -> Double) -> Measure {
    .aside(rounds: rounds) { median { body(pending, $0) } }
  }
  func swift(_ name: String, _ role: Contender.Role, _ body: @escaping @Sendable (Int) -> Double) -> Contender {
    Contender(name: name, role: role, measure: .aside(rounds: role == .ours ? rounds : peerRounds) { body(pending) })
  }
  return [
    Row(
      id: "R1c-\(name)", work: "timer: insert, cancel; \(name) pending; in C",
      contenders: [Contender(name: "csched_thread", role: .ours, measure: c { cbench_timer($0, $1) })]
        + (cbench_has_uv() ? [Contender(name: "libuv", role: .peer, measure: c { cbench_uv_timer($0, $1) })] : [])
        + (cbench_has_glib() && pending <= 1_000
          ? [Contender(name: "GLib", role: .peer, measure: c { cbench_glib_timer($0, $1) })] : []),
      targets: [.limit("L6", 2), .peer("libuv", 0.5)] + (also.map { [$0] } ?? [])),
    Row(
      id: "R1r-\(name)", work: "timer: cancel one of \(name) at random, insert it again; in C",
      contenders: [Contender(name: "csched_thread", role: .ours, measure: c { cbench_timer_replaced($0, $1) })]),
    Row(
      id: "R1-\(name)", work: "timer: insert, cancel; \(name) pending; in Swift",
      contenders: [
        swift("ThreadScheduler", .ours, ours), swift("timer source", .dispatch, sources),
        swift("asyncAfter", .peer, items), swift("NIO scheduleTask", .peer, nioTasks),
      ], targets: [.peer("timer source", 0.1), .peer("asyncAfter", 0.05), .peer("NIO scheduleTask", 0.05)]),
  ]
}

let timerRows =
  rows("1k", 1_000, rounds: 12, peerRounds: 12)
  + rows("1M", 1_000_000, rounds: 3, peerRounds: 1, also: .limit("R1c-1k", 3))
