/// A job of a task or an actor, and where it has to run.
struct RoutedJob {
  enum Place { case global, main }

  let job: UnownedJob
  let place: Place

  init(_ job: UnownedJob, _ place: Place) {
    self.job = job
    self.place = place
  }

  /// The number of its task, which is never used again; nil for the job of an actor, which is to run what waits for that.
  var task: UInt64? { kind == 0 ? numberOfTask(job) : nil }

  var address: UInt { unsafeBitCast(job, to: UInt.self) }

  /// The lowest byte of the flags, after the object's two words and two that belong to the executor: 0 for a task.
  var kind: UInt8 {
    UnsafeRawPointer(bitPattern: address)!.load(fromByteOffset: 4 * MemoryLayout<UInt>.size, as: UInt8.self)
  }

  /// Runs it on this thread: on the main actor; else as Swift's own threads do, where a call of an idle actor goes on at once.
  func run() {
    switch place {
    case .main: job.runSynchronously(on: MainActor.sharedUnownedExecutor)
    case .global: runJob(job, unsafeBitCast((0 as UInt, 0 as UInt), to: UnownedSerialExecutor.self))
    }
  }

  /// Runs it so that the calls of actors that it makes take their turn, even where the actor is idle.
  func runWithTurns() {
    if place == .main { run() } else { job.runSynchronously(on: TurnsExecutor.shared.asUnownedSerialExecutor()) }
  }
}

/// The runtime lets no task go on at once on an actor that comes from an executor which it does not know. What comes back here goes on anywhere.
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
