import BenchKit
import CBench
import Dispatch
import Foundation
import NIOCore
import Scheduler

/// How many wait.
private let count = 200_000

private func resident() -> Int {
  let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ").dropFirst()
    .first
  return (pages.flatMap { Int($0) } ?? 0) * Int(getpagesize())
}

/// What the process grows by for each that waits; in a process of its own, after a thousand of them.
private func growth(_ fill: @escaping @Sendable (Int) -> Void) -> Measure {
  .aside(rounds: 3, counted: false) {
    fill(1_000)
    let before = resident()
    fill(count)
    return [Double(resident() - before) / Double(count)]
  }
}

private func blocked(_ submit: Submit) { submit { DispatchSemaphore(value: 0).wait() } }  // for good

private let hour = 3_600
nonisolated(unsafe) private var sources: [any DispatchSourceTimer] = []  // until the process ends

let memoryRows = [
  Row(
    "G1c", "memory of a job that waits in a queue, the caller's included, in C", unit: "bytes",
    [
      Contender("csched_target_submit", .ours, growth { cbench_wait_jobs($0) }),
      Contender("dispatch_async_f", .dispatch, growth { cbench_dispatch_wait_jobs($0) }),
    ], targets: [.promise(40, "≤40"), .peer("dispatch_async_f", 0.5)]),
  Row(
    "G1", "memory of a closure that waits in a queue, in Swift", unit: "bytes",
    [
      Contender(
        "ThreadScheduler", .ours,
        growth { count in
          blocked { thread.schedule($0) }
          for _ in 0..<count { thread.schedule {} }
        }),
      Contender(
        "serial async", .dispatch,
        growth { count in
          blocked { serial.async(execute: $0) }
          for _ in 0..<count { serial.async {} }
        }),
      Contender(
        "NIO execute", .peer,
        growth { count in
          blocked { nioLoop.execute($0) }
          for _ in 0..<count { nioLoop.execute {} }
        }),
    ], targets: [.peer("serial async", 1)]),
  Row(
    "G2c", "memory of a timer that waits, the caller's included, in C", unit: "bytes",
    contenders(CBENCH_TIMERS, where: { cbench_timers_most($0) == 0 }) { timers in
      growth { cbench_wait_timers(timers, $0) }
    }, targets: [.promise(120, "≤120"), .best(1)]),
  Row(
    "G2", "memory of a closure that waits for its time, in Swift", unit: "bytes",
    [
      Contender(
        "ThreadScheduler", .ours,
        growth { for i in 0..<$0 { thread.schedule(after: .seconds(hour) + .milliseconds(i)) {} } }),
      Contender(
        "timer source", .dispatch,
        growth { count in
          for i in 0..<count {
            let source = DispatchSource.makeTimerSource(queue: serial)
            source.setEventHandler {}
            source.schedule(deadline: .now() + .seconds(hour) + .milliseconds(i))
            source.resume()
            sources.append(source)
          }
          serial.sync {}
        }),
      Contender(
        "asyncAfter", .peer,
        growth { count in
          for i in 0..<count { serial.asyncAfter(deadline: .now() + .seconds(hour) + .milliseconds(i)) {} }
          serial.sync {}
        }),
      Contender(
        "NIO scheduleTask", .peer,
        growth { count in
          for i in 0..<count { nioLoop.scheduleTask(in: .seconds(Int64(hour)) + .milliseconds(Int64(i))) {} }
          try? nioLoop.submit {}.wait()
        }),
    ], targets: [.peer("timer source", 0.5)]),
]
