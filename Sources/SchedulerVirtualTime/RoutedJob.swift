/// A job of a task or an actor, and the Swift executor on which the runtime enqueued it.
struct RoutedJob {
  enum Place { case global, main }  // the global executor; the main actor's executor

  let job: UnownedJob  // not retained, and valid until it has run: it must run exactly once
  let place: Place

  init(_ job: UnownedJob, _ place: Place) {
    self.job = job
    self.place = place
  }

  /// The number of the job's task. A number is never reused. Nil for an actor's own job, which runs the tasks that wait
  /// for the actor.
  var task: UInt64? { kind == 0 ? numberOfTask(job) : nil }

  var address: UInt { unsafeBitCast(job, to: UInt.self) }  // the address of the runtime's job object

  /// The job's kind in the Swift runtime: 0 for a task, otherwise a job of an actor or of the runtime. In the runtime's
  /// layout the kind is the byte after four words: the object's header (two words), and two words that the runtime
  /// reserves for the executor.
  var kind: UInt8 {
    UnsafeRawPointer(bitPattern: address)!.load(fromByteOffset: 4 * MemoryLayout<UInt>.size, as: UInt8.self)
  }

  /// Runs the job on this thread, as Swift's own executors do: a call of an idle actor is not queued, but runs at once
  /// in the same job.
  func run() {
    switch place {
    case .main: job.runSynchronously(on: MainActor.sharedUnownedExecutor)
    // two zero words: the runtime's generic executor, that of code without an actor
    case .global: runJob(job, unsafeBitCast((0 as UInt, 0 as UInt), to: UnownedSerialExecutor.self))
    }
  }

  /// Runs the job so that its calls of actors are queued as jobs, even if the actor is idle. Runs a job of the main
  /// actor as ``run()`` does.
  func runQueueingActorCalls() {
    if place == .main { run() } else { job.runSynchronously(on: CallQueueingExecutor.shared.asUnownedSerialExecutor()) }
  }
}

/// The executor of `runQueueingActorCalls`. The runtime does not know this executor, so it cannot switch from it to an
/// actor on the same thread: it enqueues each call of an actor. After such a call, the runtime passes the task's next
/// job to `enqueue`.
private final class CallQueueingExecutor: SerialExecutor {
  static let shared = CallQueueingExecutor()

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    // false: no open scope owns the job, which then continues on Swift's own executor
    if !VirtualScope.routeToOwner(RoutedJob(job, .global)) {
      VirtualExecutors.enqueueOnSwiftExecutor(RoutedJob(job, .global), after: nil)
    }
  }
}

// Two functions of the Swift runtime: the task number of a task's job, and a run of a job on an executor
@_silgen_name("swift_task_getJobTaskId")
private func numberOfTask(_ job: UnownedJob) -> UInt64
@_silgen_name("swift_job_run")
private func runJob(_ job: UnownedJob, _ executor: UnownedSerialExecutor)
