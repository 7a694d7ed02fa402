/// A job of a task or an actor, and the executor it was enqueued on: the global executor, or the main actor's.
struct RoutedJob {
  enum Place { case global, main }

  let job: UnownedJob
  let place: Place

  init(_ job: UnownedJob, _ place: Place) {
    self.job = job
    self.place = place
  }

  /// The number of the job's task. A number is never reused. Nil for an actor's own job, which runs the tasks that wait for the actor.
  var task: UInt64? { kind == 0 ? numberOfTask(job) : nil }

  var address: UInt { unsafeBitCast(job, to: UInt.self) }

  /// The job's kind, 0 for a task: in the runtime's layout, the byte after two words of the object and two of the executor.
  var kind: UInt8 {
    UnsafeRawPointer(bitPattern: address)!.load(fromByteOffset: 4 * MemoryLayout<UInt>.size, as: UInt8.self)
  }

  /// Runs the job on this thread: on the main actor, or as Swift's own threads do. Then a call of an idle actor is not queued, but runs at once.
  func run() {
    switch place {
    case .main: job.runSynchronously(on: MainActor.sharedUnownedExecutor)
    // zeros: the generic executor
    case .global: runJob(job, unsafeBitCast((0 as UInt, 0 as UInt), to: UnownedSerialExecutor.self))
    }
  }

  /// Runs the job so that its calls of actors are queued, even if the actor is idle.
  func runWithTurns() {
    if place == .main { run() } else { job.runSynchronously(on: TurnsExecutor.shared.asUnownedSerialExecutor()) }
  }
}

/// The executor of `runWithTurns`. The runtime queues each call of an actor whose caller runs on an executor that the runtime does not know.
private final class TurnsExecutor: SerialExecutor {
  static let shared = TurnsExecutor()

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    if !VirtualScope.take(RoutedJob(job, .global)) { VirtualExecutors.release(RoutedJob(job, .global), after: nil) }
  }
}

@_silgen_name("swift_task_getJobTaskId")
private func numberOfTask(_ job: UnownedJob) -> UInt64

@_silgen_name("swift_job_run")
private func runJob(_ job: UnownedJob, _ executor: UnownedSerialExecutor)
