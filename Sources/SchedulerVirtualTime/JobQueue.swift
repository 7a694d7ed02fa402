/// The runnable jobs. The oldest is next; with a seed, a randomly drawn one.
struct JobQueue {
  private var jobs: [RoutedJob] = []
  private var first = 0
  private var generator: Generator?
  /// With a seed: the task of the running job, and the job that this task has enqueued for itself.
  private var running: UInt64?, rest: RoutedJob?

  init(seed: UInt64?) { generator = seed.map(Generator.init(state:)) }

  var isEmpty: Bool { first == jobs.count && rest == nil }
  var isDrawn: Bool { generator != nil }

  /// A task that moves between two functions without an actor keeps its thread, so it may hold a lock meanwhile. With a seed this is two
  /// jobs (see ``RoutedJob/runWithTurns()``), and no other job runs between them.
  mutating func append(_ job: RoutedJob) {
    if let task = job.task, task == running, rest == nil { rest = job } else { jobs.append(job) }
  }

  mutating func next() -> RoutedJob? {
    if isEmpty { return nil }
    if generator != nil { return drawn() }
    defer {
      first += 1
      if first == jobs.count || first > 1_000 {
        jobs.removeFirst(first)
        first = 0
      }
    }
    return jobs[first]
  }

  /// Called when the job that ``next()`` returned has ended.
  mutating func ended() { running = nil }

  private mutating func drawn() -> RoutedJob {
    let job = rest.take() ?? takeAny()
    running = job.place == .global ? job.task : nil
    return job
  }

  private mutating func takeAny() -> RoutedJob {
    jobs.swapAt(Int.random(in: jobs.indices, using: &generator!), jobs.endIndex - 1)
    return jobs.removeLast()
  }

  /// SplitMix64: the same sequence on every system and in every version, so that a failing seed fails again.
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
