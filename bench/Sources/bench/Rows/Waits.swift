import BenchKit
import CBench
import Synchronization

private let seconds = Scale.isQuick ? 0.3 : 5

/// The three figures of one fight, for as many rows: whoever asks first has it fought, the others get what was seen then.
private final class Fight: Sendable {
  enum Figure: Int { case longest, section, passed }

  private let lock: Int32, threads: Int32
  private let unread: Mutex<[Int: cbench_waits]> = Mutex([:])

  init(_ lock: Int32, _ threads: Int32) {
    self.lock = lock
    self.threads = threads
  }

  func figure(_ figure: Figure) -> Double {
    if let waits = unread.withLock({ $0.removeValue(forKey: figure.rawValue) }) { return Fight.value(waits, figure) }
    let waits = cbench_lock_fight(lock, threads, CBENCH_FREE, seconds, 1_000, 0, true)
    unread.withLock { unread in
      for other in [Figure.longest, .section, .passed] where other != figure { unread[other.rawValue] = waits }
    }
    return Fight.value(waits, figure)
  }

  private static func value(_ waits: cbench_waits, _ figure: Figure) -> Double {
    switch figure {
    case .longest: waits.longest / 1e6
    case .section: waits.section
    case .passed: waits.passed
    }
  }
}

/// How long the unluckiest waits in a lasting fight, what all get done meanwhile, and how many pass whoever waits.
private func rows(_ threads: Int32) -> [Row] {
  let fights = (0..<cbench_count(CBENCH_LOCKS)).map { Fight($0, threads) }
  func all(_ figure: Fight.Figure) -> [Contender] {
    contenders(CBENCH_LOCKS) { lock in .figures(rounds: 3) { [fights[Int(lock)].figure(figure)] } }
  }
  let fight = "\(threads) threads, sections of 1 µs"
  return [
    Row(
      "K5-\(threads)", "longest wait in \(seconds.short) s, \(fight), in C", unit: "ms", all(.longest),
      targets: [.peer("parking_lot", 1.5)]),
    Row(
      "K5-\(threads)t", "from one section to the next meanwhile", all(.section), targets: [.best(1 / 0.9)]),
    Row(
      "K5-\(threads)n", "sections of others during the wait that most passed", unit: "sections", all(.passed),
      targets: [.promise(Double(threads), "passed by at most \(threads)")]),
  ]
}

let waitRows = rows(16) + rows(64)
