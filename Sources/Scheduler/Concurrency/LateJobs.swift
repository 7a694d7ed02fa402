// Runs the jobs of tasks that a stopped target has refused or dropped.
//
// States: LateJobs' lists and `isOver`, under the core's lock; `isOver` is final, and the lists are then empty
// Invariants
//   LJ1  A job that was submitted to a scheduler runs exactly once, whenever its target is stopped, and by any thread.
//   LJ2  It never runs beside an action, or another job, of the same exclusive root. Its scheduler is the current one, and isolation holds.
//   LJ3  The jobs that one thread submits to one scheduler run in that order.
//   LJ4  The target of a job lives until the submission has returned.
// Orderings: the lock's, and those of the queues. Assumes: a queue's owner is notified once that the queue has dropped all jobs (serial.c, SQ6),
//   and a thread's owner of the thread's end (thread.c, TH3).
// Checked by: "a task ends, isolated and in order, whenever its scheduler is stopped, by either policy",
//   "late jobs of one submitter keep their order, those that were taken before the stop, too",
//   "the last reference to a scheduler goes in its own job, while others resume it",
//   "the pool and the main thread are shut down, before, under and after tasks of each kind".
// Models: swift/executors/late_jobs.swift, with test jobs and a pool driven by hand. It lacks the main loop's end.

/// The jobs of tasks that a target refused or dropped because it was stopped. They must run, or their tasks would never end.
///
/// They wait until no work of the target runs. Then they go to the target's own queue on the pool, which runs them one at a time, in order.
/// Dropped jobs had been accepted, so they are older than refused jobs.
struct LateJobs {
  private var dropped: [TaskJob] = [], refused: [TaskJob] = []
  /// No work of the target runs, now or later, and no late job waits.
  private var isOver = false
  /// The queue that runs them.
  var queue: SerialCore?

  /// Stores `job`. Returns false if the job can continue at once.
  mutating func add(_ job: TaskJob, wasRefused: Bool) -> Bool {
    guard !isOver else { return false }
    if wasRefused { refused.append(job) } else { dropped.append(job) }
    return true
  }

  mutating func take() -> [TaskJob] {
    defer { (dropped, refused) = ([], []) }
    return dropped + refused
  }

  /// Returns and clears the waiting jobs. If there are none, sets `isOver` and returns nil: later jobs continue at once.
  mutating func takeOrEnd() -> [TaskJob]? {
    isOver = dropped.isEmpty && refused.isEmpty
    return isOver ? nil : take()
  }
}

extension TargetCore {
  /// Takes back a job that was submitted here and did not run. The job continues where its isolation holds.
  ///
  /// - Parameters:
  ///   - job: the job.
  ///   - wasRefused: whether its submission refused it; otherwise it was dropped later.
  final func takeBack(_ job: TaskJob, wasRefused: Bool) {
    // After the pool's shutdown, `shared` returns another pool.
    if let pool = (self as? LimitCore)?.base as? PoolCore ?? self as? PoolCore {
      return job.submit(to: PoolCore.shared(pool.priority))
    }
    if !withLate({ $0.add(job, wasRefused: wasRefused) }) { goOn(with: [job]) }
  }

  /// Declares that no work of this target runs, now or later. Its late jobs may run elsewhere.
  final func endExclusion() {
    while let jobs = withLate({ $0.takeOrEnd() }) { goOn(with: jobs) }
  }

  private func goOn(with jobs: [TaskJob]) {
    let root = exclusiveRoot
    if root !== self { return jobs.forEach { root.takeBack($0, wasRefused: true) } }
    for job in jobs {
      noteLate(job)
      job.submit(to: lateQueue)
    }
  }

  private var lateQueue: SerialCore {
    if let queue = withLate({ $0.queue }) { return queue }
    let made = SerialCore(name: name, on: PoolCore.shared(.default))
    return withLate { late in
      let queue = late.queue ?? made
      late.queue = queue
      return queue
    }
  }
}
