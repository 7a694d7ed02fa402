// Runs late jobs: jobs of Swift tasks that a stopped target refused or dropped. They run later on the pool.
//
// States: the two lists of LateJobs, and `isOver`, under the TargetCore's lock. Once `isOver` is true, it stays true,
// and the lists stay empty.
// Invariants
//   LJ1  A job that was submitted to a scheduler runs exactly once, whenever, and by whichever thread, its target is
//        stopped.
//   LJ2  A job never runs concurrently with an action or job of the same exclusive root. During the job, its scheduler
//        is current and isolates it.
//   LJ3  The jobs that one thread submits to one scheduler run in the order of submission.
//   LJ4  The target of a job is not freed until the submission of the job has returned.
// Orderings: the lock's, and those of the queues. Assumes: `endExclusion` is called once when a closed queue has
//   dropped all jobs (serial.c, SQ6), and once at a thread's end (thread.c, TH3).
// Models: swift/executors/late_jobs.swift, with test jobs, and a pool that the test drives. Not covered: the main
//   loop's end.

/// The late jobs of one stopped target: jobs of Swift tasks that it refused or dropped. They must run, or their tasks
/// would never end.
/// Late jobs wait here until no work of the target runs. Then the target's late queue, a serial queue on the pool, runs
/// them in order.
/// Dropped jobs were accepted before the stop, so they are older than refused jobs.
struct LateJobs {
  private var dropped: [TaskJob] = [], refused: [TaskJob] = []
  // no work of the target runs, now or later, and no late job waits here: `add` stores no more jobs
  private var isOver = false
  var queue: SerialCore?  // the late queue, made for the first late job

  /// Stores `job`. Returns false, without storing it, if no work of the target runs any more: the late queue may run
  /// the job.
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

  /// Removes and returns the waiting jobs. If there are none, sets `isOver` and returns nil: `add` then rejects later
  /// jobs.
  mutating func takeOrEnd() -> [TaskJob]? {
    isOver = dropped.isEmpty && refused.isEmpty
    return isOver ? nil : take()
  }
}

extension TargetCore {
  /// Called with a job that this target refused or dropped. Resubmits the job where its isolation holds: to the next
  /// pool, or as a late job.
  ///
  /// - Parameters:
  ///   - job: the job, which has not run.
  ///   - wasRefused: whether the target refused the submission; otherwise it dropped the job later.
  final func resubmitTaskJob(_ job: TaskJob, wasRefused: Bool) {
    // A pool, or a limit on one, refuses or drops a job only after the pool's shutdown. Then `shared` returns another
    // pool.
    if let pool = (self as? LimitCore)?.base as? PoolCore ?? self as? PoolCore {
      return job.submit(to: PoolCore.shared(pool.priority))
    }
    if !withLateJobs({ $0.add(job, wasRefused: wasRefused) }) { submitLate([job]) }
  }

  /// Called when no work of this target runs, now or later. Submits the waiting late jobs to the late queue, also those
  /// added meanwhile.
  final func endExclusion() {
    while let jobs = withLateJobs({ $0.takeOrEnd() }) { submitLate(jobs) }
  }

  /// Submits `jobs` to the late queue. For a queue on a thread, the main loop or a queue, its exclusive root receives
  /// `jobs` as its own late jobs.
  private func submitLate(_ jobs: [TaskJob]) {
    let root = exclusiveRoot
    // LJ3: as refused jobs they run after the root's dropped jobs, which are older
    if root !== self { return jobs.forEach { root.resubmitTaskJob($0, wasRefused: true) } }
    for job in jobs {
      noteLateJob(job)  // calls the handlers of late jobs, or stops the process
      job.submit(to: lateQueue)
    }
  }

  /// The queue on the shared pool that runs this target's late jobs, made at first use. It also runs what queues on
  /// this target have accepted before the stop, if that comes after the end of the target's work (serial.c, SQ14).
  final var lateQueue: SerialCore {
    if let queue = withLateJobs({ $0.queue }) { return queue }
    let made = SerialCore(name: name, on: PoolCore.shared(.default))
    return withLateJobs { late in
      // LJ3: one queue for all late jobs; another thread may have stored its own meanwhile
      let queue = late.queue ?? made
      late.queue = queue
      return queue
    }
  }
}
