import BenchKit
import Dispatch
import NIOCore
import Scheduler
import Synchronization

private final class Instant: Sendable { let value = Atomic<UInt64>(0) }

/// How late what was submitted for 1 ms from now begins.
private func lateness(_ submit: @escaping @Sendable (UInt64, @escaping @Sendable () -> Void) -> Void) -> Measure {
  .latencies(count: 40) { count in
    let began = Instant(), done = DispatchSemaphore(value: 0)
    return (0..<count).map { _ in
      let deadline = MonotonicTime.now.nanoseconds + 1_000_000
      submit(deadline) {
        began.value.store(MonotonicTime.now.nanoseconds, ordering: .relaxed)
        done.signal()
      }
      done.wait()
      return began.value.load(ordering: .relaxed) - deadline
    }
  }
}

private func strictSource() -> any DispatchSourceTimer {
  DispatchSource.makeTimerSource(flags: .strict, queue: serial)
}

private let periods = 100_000
private let period = 10_000  // ns, so that all of them take a second

private final class Ticks: Sendable {
  private let state = Protected((ticks: 0, first: Int64.max, last: Int64.max))
  let done = DispatchSemaphore(value: 0)

  /// Takes the lateness of the tick that is `more` after the last one; true when it was the last of all.
  func take(_ more: Int, since start: UInt64) -> Bool {
    let now = MonotonicTime.now.nanoseconds
    return state.withLock { state in
      guard state.ticks < periods else { return false }
      state.ticks += more
      let late = Int64(now) - Int64(start) - Int64(state.ticks * period)
      if state.ticks <= periods / 10 { state.first = min(state.first, late) }
      if state.ticks > periods / 10 * 9 { state.last = min(state.last, late) }
      return state.ticks >= periods
    }
  }

  /// By how much a tick is later than the one before it: the least lateness in the last tenth less that in the first.
  var drift: Double { state.withLock { abs(Double($0.last - $0.first)) / (Double(periods) * 0.9) } }
}

private func ourDrift() -> Double {
  let ticks = Ticks(), start = MonotonicTime.now.nanoseconds
  let timing = ActionTiming.every(.nanoseconds(period), pace: .catchingUp)
  let token = thread.schedule(timing) { if ticks.take(1, since: start) { ticks.done.signal() } }
  ticks.done.wait()
  token.dispose()
  return ticks.drift
}

private func dispatchDrift() -> Double {
  let ticks = Ticks(), source = strictSource(), start = MonotonicTime.now.nanoseconds
  source.schedule(
    deadline: .now() + .nanoseconds(period), repeating: .nanoseconds(period), leeway: .nanoseconds(0))
  source.setEventHandler { if ticks.take(Int(source.data), since: start) { ticks.done.signal() } }
  source.resume()
  ticks.done.wait()
  source.cancel()
  source.setEventHandler {}
  return ticks.drift
}

nonisolated(unsafe) private let oneSource: any DispatchSourceTimer = {
  let source = strictSource()
  source.schedule(deadline: .distantFuture)
  source.resume()
  return source
}()  // its schedule may be called on any thread

let punctualityRows = [
  Row(
    "R2", "lateness of a timer after 1 ms, p50",
    [
      Contender("ThreadScheduler", .ours, lateness { thread.schedule(.at(MonotonicTime(nanoseconds: $0)), $1) }),
      Contender(
        "timer source", .dispatch,
        lateness { deadline, work in
          oneSource.setEventHandler(handler: work)
          oneSource.schedule(deadline: DispatchTime(uptimeNanoseconds: deadline), leeway: .nanoseconds(0))
        }),
      Contender("NIO scheduleTask", .peer, lateness { nioLoop.scheduleTask(deadline: .uptimeNanoseconds($0), $1) }),
    ], targets: [.limit("L5", 1, plus: 2_000), .peer("timer source", 0.5)]),
  Row(
    "R3", "drift over \(periods) periods of 10 µs", unit: "ns a period",
    [
      Contender("ThreadScheduler", .ours, .figures(rounds: 3) { [ourDrift()] }),
      Contender("timer source", .dispatch, .figures(rounds: 3) { [dispatchDrift()] }),
    ], targets: [.promise(0.1, "0: ≤0.1")]),
]
