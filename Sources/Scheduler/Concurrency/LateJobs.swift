// Late jobs: jobs of Swift tasks that a stopped target refused or dropped. They run later on the pool.
//
// States: the two lists of LateJobs, and `isOver`, under the TargetCore's lock. `isOver` stays true, and the lists are then empty.
// Invariants
//   LJ1  A job that was submitted to a scheduler runs exactly once, no matter when, and by which thread, its target is stopped.
//   LJ2  A job never runs concurrently with an action or job of the same exclusive root. During the job its scheduler is current and isolation holds.
//   LJ3  The jobs that one thread submits to one scheduler run in the order of submission.
//   LJ4  The target of a job is not freed until the submission of the job has returned.
// Orderings: the lock's, and those of the queues. Assumes: the TargetCore is notified once when a closed queue has dropped all jobs (serial.c, SQ6),
//   and once at a thread's end (thread.c, TH3).
// Checked by: "a task ends, isolated and in order, whenever its scheduler is stopped, by either policy",
//   "late jobs of one submitter keep their order, those that were taken before the stop, too",
//   "the last reference to a scheduler goes in its own job, while others resume it",
//   "the pool and the main thread are shut down, before, under and after tasks of each kind".
// Models: swift/executors/late_jobs.swift, with test jobs, and a pool that the test drives. Not covered: the main loop's end.

/// The late jobs of one target: jobs of Swift tasks that the target, which was stopped, refused or dropped. They must run, or their tasks would
/// never end. Late jobs wait here until no work of the target runs. Then the target's late queue, a serial queue on the pool, runs them in order.
/// Dropped jobs had been accepted, so they are older than refused jobs.
struct LateJobs {
  private var dropped: [TaskJob] = [], refused: [TaskJob] = []
  private var isOver = false  // no work of the target runs, now or later, and no late job waits here
  var queue: SerialCore?  // the late queue, made for the first late job

  /// Stores `job`. Returns false, without storing it, if the late queue may run the job at once.
  mutating func add(_ job: TaskJob, wasRefused: Bool) -> Bool {
    guard !isOver else { return false }
    if wasRefused { refused.append(job) } else { dropped.append(job) }
    return true
  }

  /// Removes and returns the waiting jobs, dropped jobs first.
  mutating func take() -> [TaskJob] {
    defer { (dropped, refused) = ([], []) }
    return dropped + refused
  }

  /// Removes and returns the waiting jobs. If there are none, sets `isOver` and returns nil: `add` then rejects later jobs.
  mutating func takeOrEnd() -> [TaskJob]? {
    isOver = dropped.isEmpty && refused.isEmpty
    return isOver ? nil : take()
  }
}

extension TargetCore {
  /// Called with a job that this target refused or dropped. Resubmits the job where its isolation holds: to the next pool, or as a late job.
  ///
  /// - Parameters:
  ///   - job: the job, which has not run.
  ///   - wasRefused: whether the target refused the submission; otherwise it dropped the job later.
  final func takeBack(_ job: TaskJob, wasRefused: Bool) {
    // A pool refuses or drops a job only when it is shut down. Then `shared` returns another pool.
    if let pool = (self as? LimitCore)?.base as? PoolCore ?? self as? PoolCore {
      return job.submit(to: PoolCore.shared(pool.priority))
    }
    if !withLate({ $0.add(job, wasRefused: wasRefused) }) { submitLate([job]) }
  }

  /// Declares that no work of this target runs, now or later. Its late jobs may then run elsewhere.
  final func endExclusion() {
    while let jobs = withLate({ $0.takeOrEnd() }) { submitLate(jobs) }
  }

  /// Submits `jobs` to the late queue. If this target is a queue on an exclusive target, the exclusive root receives `jobs` as its own late jobs.
  private func submitLate(_ jobs: [TaskJob]) {
    let root = exclusiveRoot
    if root !== self { return jobs.forEach { root.takeBack($0, wasRefused: true) } }
    for job in jobs {
      noteLate(job)
      job.submit(to: lateQueue)
    }
  }

  private var lateQueue: SerialCore {
    if let queue = withLate({ $0.queue }) { return queue }
    let made = SerialCore(name: name, on: PoolCore.shared(.default))  // made outside the lock
    return withLate { late in
      let queue = late.queue ?? made
      late.queue = queue
      return queue
    }
  }
}
