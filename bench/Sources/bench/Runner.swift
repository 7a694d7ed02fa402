import Foundation
import Histogram

/// Takes the samples: in each round every contender of every row has its turn, so that the machine's moods meet all alike.
struct Runner {
  let rounds: Int
  /// The length that a sample is calibrated to, in nanoseconds.
  let sampleLength: Double
  let progress: (String) -> Void

  func run(_ rows: [Row]) -> [RowResult] {
    var results = rows.map { row in RowResult(row: row, results: row.contenders.map { Result(contender: $0) }) }
    var counts: [[Int]] = []
    for row in rows {
      progress("calibrating \(row.id)")
      counts.append(row.contenders.map { calibrate($0.measure) })
    }
    var latencies: [String: Histogram<UInt64>] = [:]
    for round in 1...rounds {
      for (r, row) in rows.enumerated() {
        progress("round \(round) of \(rounds): \(row.id)")
        for (c, contender) in row.contenders.enumerated() {
          switch contender.measure {
          case .operations(let body):
            results[r].results[c].samples.append(body(counts[r][c]) / Double(counts[r][c]))
          case .latencies(_, let body):
            var histogram = Histogram<UInt64>(highestTrackableValue: 10_000_000_000)
            let key = "\(row.id) \(contender.name)"
            for value in body(counts[r][c]) {
              histogram.record(value)
              latencies[key, default: Histogram(highestTrackableValue: 10_000_000_000)].record(value)
            }
            results[r].results[c].samples.append(Double(histogram.valueAtPercentile(50)))
            results[r].results[c].percentile99 = latencies[key].map { Double($0.valueAtPercentile(99)) }
          case .figure(let rounds, let body):
            if round <= rounds { results[r].results[c].samples.append(body()) }
          case .aside(let rounds, _):
            if round <= rounds { results[r].results[c].samples.append(Aside(row, contender).run()) }
          }
        }
      }
    }
    return results
  }

  /// How many operations fill a sample.
  private func calibrate(_ measure: Measure) -> Int {
    switch measure {
    case .latencies(let count, _): return count
    case .figure, .aside: return 1
    case .operations(let body):
      var count = 64
      while true {
        let took = max(body(count), 1)
        // Not before some thousands: waking the threads of a contended row takes longer than few operations do.
        if (took >= sampleLength / 4 && count >= 4_096) || count >= 1 << 28 || took >= 8 * sampleLength {
          return max(64, Int(Double(count) * sampleLength / took))
        }
        count *= took < sampleLength / 64 ? 8 : 2
      }
    }
  }
}
