/// The jobs that can run: the oldest is next, or, with a seed, whichever is drawn.
struct JobQueue {
  private var jobs: [RoutedJob] = []
  private var first = 0
  private var generator: Generator?

  init(seed: UInt64?) { generator = seed.map(Generator.init(state:)) }

  var isEmpty: Bool { first == jobs.count }
  var isDrawn: Bool { generator != nil }

  mutating func append(_ job: RoutedJob) { jobs.append(job) }

  mutating func next() -> RoutedJob? {
    if isEmpty { return nil }
    if generator != nil {
      jobs.swapAt(Int.random(in: jobs.indices, using: &generator!), jobs.endIndex - 1)
      return jobs.removeLast()
    }
    defer {
      first += 1
      if first == jobs.count || first > 1_000 {
        jobs.removeFirst(first)
        first = 0
      }
    }
    return jobs[first]
  }

  /// SplitMix64: the same on every system and in every version, so that a seed that failed once fails again.
  private struct Generator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
      state &+= 0x9E37_79B9_7F4A_7C15
      var z = state
      z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
      z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
      return z ^ (z >> 31)
    }
  }
}
