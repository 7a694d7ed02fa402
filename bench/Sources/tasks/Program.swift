// What tasks cost, on Swift's own executors or, told "ours", on this library's: the same program in a process of its
// own for each, which answers requests in lines (see Helper in BenchKit): "yield 100000" is answered by the nanoseconds
// of all.
import Dispatch
import Foundation
import Scheduler
import SchedulerExecutors

@main struct Program {
  static let isOurs = CommandLine.arguments.contains("ours")

  static func main() {
    if isOurs { try! GlobalExecutors.install() }
    Thread.detachNewThread {
      print(#"{"values": []}"#)
      fflush(nil)
      while let line = readLine() { answer(line.split(separator: " ")) }
      exit(0)
    }
    if isOurs { MainScheduler.run() } else { dispatchMain() }
  }

  static func answer(_ words: [Substring]) {
    let values = Protected<[Double]>([]), over = DispatchSemaphore(value: 0)
    guard words.count == 2, let work = works[String(words[0])], let count = Int(words[1]) else { exit(64) }
    Task.detached {
      // Whose threads these are: a program that runs does not prove it.
      guard (Schedulers.current is ConcurrentScheduler) == isOurs else { exit(70) }
      values.write(await work(count))
      over.signal()
    }
    over.wait()
    print(#"{"values": \#(values.read())}"#)
    fflush(nil)
  }
}

/// Each gives the nanoseconds of so many operations, or other figures.
let works: [String: @Sendable (Int) async -> [Double]] = [
  "spawn": { count in await time { for _ in 0..<count { await Task.detached {}.value } } },
  "group": { count in
    await time { await withTaskGroup(of: Void.self) { group in for _ in 0..<count { group.addTask {} } } }
  },
  "async-let": { count in await time { _ = await fib(count) } },
  "yield": { count in await time { for _ in 0..<count { await Task.yield() } } },
  "ping-pong": { count in
    let there = Player(nil), here = Player(there)
    return await time { for _ in 0..<count { await here.hit() } }
  },
  "one-actor": { count in
    let player = Player(nil)
    return await time {
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<8 { group.addTask { for _ in 0..<count / 8 { await player.hit() } } }
      }
    }
  },
  "late": { count in
    var late: [Double] = []
    for _ in 0..<count {
      let start = MonotonicTime.now
      try? await Task.sleep(for: .milliseconds(1))
      late.append(Double(MonotonicTime.now.nanoseconds - start.nanoseconds) - 1e6)
    }
    return late
  },
  "main": { count in await time { for _ in 0..<count { await MainActor.run {} } } },
  "asleep": { count in
    await time {
      let tasks = (0..<count).map { _ in Task { try await Task.sleep(for: .seconds(3600)) } }
      for task in tasks { task.cancel() }
      for task in tasks { _ = await task.result }
    }
  },
  "asleep-bytes": { count in
    let before = status("VmRSS:") * 1_024
    let tasks = (0..<count).map { _ in Task { try await Task.sleep(for: .seconds(3600)) } }
    try? await Task.sleep(for: .milliseconds(200))
    let after = status("VmRSS:") * 1_024
    for task in tasks { task.cancel() }
    for task in tasks { _ = await task.result }
    return [(after - before) / Double(count)]
  },
  "threads": { _ in [status("Threads:")] },
  "jobs": { count in
    let before = GlobalExecutors.jobs.onPool
    for _ in 0..<count { await Task.yield() }
    return [Double(GlobalExecutors.jobs.onPool - before) / Double(count)]
  },
]

func time(_ body: () async -> Void) async -> [Double] {
  let start = MonotonicTime.now
  await body()
  return [Double(MonotonicTime.now.nanoseconds - start.nanoseconds)]
}

func fib(_ n: Int) async -> Int {
  if n < 2 { return n }
  async let first = fib(n - 1), second = fib(n - 2)
  return await first + second
}

actor Player {
  private let other: Player?
  private var hits = 0

  init(_ other: Player?) { self.other = other }

  func hit() async {
    hits += 1
    if let other { await other.hit() }
  }
}

/// A figure of the process's, as the system shows it.
func status(_ name: String) -> Double {
  let text = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
  let line = text.split(separator: "\n").first { $0.hasPrefix(name) } ?? ""
  return Double(line.filter(\.isNumber)) ?? 0
}
