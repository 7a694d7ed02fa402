// States: LateJobs' lists and `isOver`, under the core's lock; `isOver` is final, and the lists are then empty
// Obligations
//   LJ1  A job that was given to a scheduler runs exactly once, whenever, and by whomever, its target is stopped.
//   LJ2  It never runs beside an action, or another job, of the same exclusive root; the scheduler is the current one, and isolation holds.
//   LJ3  The jobs that one thread gives to one scheduler run in that order.
//   LJ4  What a job was submitted to stays until the submission has returned.
// Orderings: the lock's, and those of the queues. Assumes: the queue's owner is told once that it has dropped all (serial.c, S6), and a
//   thread of its end (thread.c, H3).
// Checked by: "a task ends, isolated and in order, whenever its scheduler is stopped, by either policy",
//   "late jobs of one submitter keep their order, those that were taken before the stop, too",
//   "the last reference to a scheduler goes in its own job, while others resume it",
//   "the pool and the main thread are shut down, before, under and after tasks of each kind".
// Models: swift/executors/late_jobs.swift, with jobs that stand for tasks', and a pool that is driven by hand. Not there: the main loop's end.

/// The jobs of tasks that a target has let go of because it was stopped. They run all the same, or their tasks would never end.
///
/// They wait until nothing of the target's runs any more, and then go to a queue of its own on the pool: one at a time, in order, as before.
/// What had been taken, and was dropped, is older than what was refused.
struct LateJobs {
  private var dropped: [TaskJob] = [], refused: [TaskJob] = []
  /// Nothing of the target's runs any more.
  private var isOver = false
  /// Where they run.
  var queue: SerialCore?

  /// Takes `job` in; not when it can go on at once. Returns whether it did.
  mutating func add(_ job: TaskJob, wasRefused: Bool) -> Bool {
    guard !isOver else { return false }
    if wasRefused { refused.append(job) } else { dropped.append(job) }
    return true
  }

  mutating func take() -> [TaskJob] {
    defer { (dropped, refused) = ([], []) }
    return dropped + refused
  }

  /// Takes what there is; where there is nothing, those to come go on at once.
  mutating func takeOrEnd() -> [TaskJob]? {
    isOver = dropped.isEmpty && refused.isEmpty
    return isOver ? nil : take()
  }
}

extension TargetCore {
  /// Takes back a job that was submitted here and not run: it goes on, where its isolation holds.
  ///
  /// - Parameters:
  ///   - job: the job.
  ///   - wasRefused: whether it was let go of in its submission, not later.
  final func takeBack(_ job: TaskJob, wasRefused: Bool) {
    // One that was shut down is not the shared one any more.
    if let pool = (self as? LimitCore)?.base as? PoolCore ?? self as? PoolCore {
      return job.submit(to: PoolCore.shared(pool.priority))
    }
    if !withLate({ $0.add(job, wasRefused: wasRefused) }) { goOn(with: [job]) }
  }

  /// Says that nothing of this target's runs any more, or will: its late jobs may go on elsewhere.
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
