import BenchKit
import CBench
import Synchronization

private let seconds = Scale.isQuick ? 0.3 : 5

/// The three figures of one measurement, for as many rows: it is taken when the first is asked for, and the others are
/// kept until then.
private final class Contest: Sendable {
  enum Figure: Int { case longest, section, passed }

  private let lock: Int32, threads: Int32
  private let unread: Mutex<[Int: cbench_waits]> = Mutex([:])

  init(_ lock: Int32, _ threads: Int32) {
    self.lock = lock
    self.threads = threads
  }

  func figure(_ figure: Figure) -> Double {
    if let waits = unread.withLock({ $0.removeValue(forKey: figure.rawValue) }) { return Contest.value(waits, figure) }
    let waits = cbench_lock_contended(lock, threads, CBENCH_FREE, seconds, 1_000, 0, true)
    unread.withLock { unread in
      for other in [Figure.longest, .section, .passed] where other != figure { unread[other.rawValue] = waits }
    }
    return Contest.value(waits, figure)
  }

  private static func value(_ waits: cbench_waits, _ figure: Figure) -> Double {
    switch figure {
    case .longest: waits.longest / 1e6
    case .section: waits.section
    case .passed: waits.passed
    }
  }
}

/// The longest wait under lasting contention; the throughput meanwhile; and how many sections of others there were
/// during one wait.
private func rows(_ threads: Int32) -> [Row] {
  let contests = (0..<cbench_count(CBENCH_LOCKS)).map { Contest($0, threads) }
  func all(_ figure: Contest.Figure) -> [Contender] {
    contenders(CBENCH_LOCKS) { lock in .figures(rounds: 3) { [contests[Int(lock)].figure(figure)] } }
  }
  let work = "\(threads) threads, sections of 1 µs"
  return [
    Row(
      "K5-\(threads)", "longest wait in \(seconds.short) s, \(work), in C", unit: "ms", all(.longest),
      targets: [.peer("parking_lot", 1.5)]),
    Row(
      "K5-\(threads)t", "the same: time for each section (throughput)", all(.section), targets: [.best(1 / 0.9)]),
    Row(
      "K5-\(threads)n", "most sections of others during one wait", unit: "sections", all(.passed),
      targets: [.promise(Double(threads), "passed by at most \(threads)")]),
  ]
}

let waitRows = rows(16) + rows(64)
