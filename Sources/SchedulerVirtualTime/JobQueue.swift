/// The runnable jobs. The oldest job is next; with a seed, a randomly drawn job.
struct JobQueue {
  private var jobs: [RoutedJob] = []
  private var first = 0  // the index in `jobs` of the next job, without a seed
  private var generator: Generator?
  /// With a seed: the task of the running job, and the job that this task has enqueued for itself.
  private var running: UInt64?, followUp: RoutedJob?

  init(seed: UInt64?) { generator = seed.map(Generator.init(state:)) }

  var isEmpty: Bool { first == jobs.count && followUp == nil }
  var isDrawn: Bool { generator != nil }  // whether there is a seed

  /// Adds a job. Normally a task that calls a function without an actor stays on its thread, so the task may hold a lock across the call. With a
  /// seed, ``RoutedJob/runWithTurns()`` splits that call into two jobs. `followUp` makes the second job run next, before any other task.
  mutating func append(_ job: RoutedJob) {
    if let task = job.task, task == running, followUp == nil { followUp = job } else { jobs.append(job) }
  }

  /// Removes and returns the next job, or nil if there is none.
  mutating func next() -> RoutedJob? {
    if isEmpty { return nil }
    if generator != nil { return nextDrawn() }
    defer {
      first += 1
      if first == jobs.count || first > 1_000 {  // Speed only: one shift of the array for many jobs
        jobs.removeFirst(first)
        first = 0
      }
    }
    return jobs[first]
  }

  /// Called when the job that ``next()`` returned has ended.
  mutating func ended() { running = nil }

  private mutating func nextDrawn() -> RoutedJob {
    let job = followUp.take() ?? removeRandom()
    running = job.place == .global ? job.task : nil  // jobs of the main actor are not split
    return job
  }

  private mutating func removeRandom() -> RoutedJob {
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
