/// The runnable jobs of a scope. Without a seed, ``next()`` returns the oldest job; with a seed, a random one.
struct JobQueue {
  private var jobs: [RoutedJob] = []
  private var first = 0  // without a seed: the index in `jobs` of the next job; with a seed: always 0
  private var generator: Generator?  // nil without a seed
  /// With a seed: `running` is the task of the running job. `followUp` is the job that this task has enqueued for
  /// itself during that job.
  private var running: UInt64?, followUp: RoutedJob?

  init(seed: UInt64?) { generator = seed.map(Generator.init(state:)) }

  var isEmpty: Bool { first == jobs.count && followUp == nil }
  var hasRandomOrder: Bool { generator != nil }  // only with a seed

  /// Adds a job. A job that the running task enqueues for itself becomes `followUp`, and runs next, before any other
  /// task.
  ///
  /// Reason: in Swift, a task that calls a function without an actor stays on its thread, so it may hold a lock across
  /// the call. With a seed, ``RoutedJob/runQueueingActorCalls()`` splits such a task into two jobs at the call. No
  /// other task may run between them.
  mutating func append(_ job: RoutedJob) {
    // `running` is nil without a seed, so `followUp` stays nil
    if let task = job.task, task == running, followUp == nil { followUp = job } else { jobs.append(job) }
  }

  /// Removes and returns the next job, or nil if there is none.
  mutating func next() -> RoutedJob? {
    if isEmpty { return nil }
    if generator != nil { return removeFollowUpOrRandom() }
    defer {  // after the read of `jobs[first]` below
      first += 1
      if first == jobs.count || first > 1_000 {  // Speed only: shifts the array once per 1000 jobs, not for each
        jobs.removeFirst(first)
        first = 0
      }
    }
    return jobs[first]
  }

  /// Call it when the job that ``next()`` returned has ended: jobs that its task gets after that call do not become
  /// `followUp`.
  mutating func ended() { running = nil }

  /// With a seed: removes and returns the `followUp`, otherwise a random job. Stores its task in `running`.
  private mutating func removeFollowUpOrRandom() -> RoutedJob {
    let job = followUp.take() ?? removeRandom()
    running = job.place == .global ? job.task : nil  // jobs of the main actor are not split, so they need no follow-up
    return job
  }

  private mutating func removeRandom() -> RoutedJob {  // in constant time: fills the gap with the last job
    jobs.swapAt(Int.random(in: jobs.indices, using: &generator!), jobs.endIndex - 1)
    return jobs.removeLast()
  }

  /// SplitMix64, with its published constants: the same sequence on every system and in every version, so that a
  /// failing seed fails again.
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
