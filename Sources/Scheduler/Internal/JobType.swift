internal import CScheduler

/// An object of ours whose job lies in the core's queues.
protocol JobOwner: AnyObject {
  /// Does the work.
  func run()
  /// Gives up what the work holds, because it will not be done.
  func drop()
  /// Follows the end of the work, before the queue's reference goes.
  func letGo()
}

/// The core's table of what to do with the jobs of one class.
///
/// The queue owns one reference to the object, from its submission until the job's release.
struct JobType: @unchecked Sendable {
  // Unchecked, because a pointer is not Sendable; what it points to never changes, and lives as long as the process.
  let pointer: UnsafePointer<csched_job_type>

  init(_ type: csched_job_type) { pointer = constantTable(type) }

  /// Makes `job` that of `owner`.
  @inline(__always)
  func attach(_ job: UnsafeMutablePointer<csched_job>, to owner: some JobOwner) {
    csched_job_init(job, pointer, Unmanaged.passUnretained(owner).toOpaque())
  }

  /// Makes `timer` that of `owner`.
  @inline(__always)
  func attach(_ timer: UnsafeMutablePointer<csched_timer>, to owner: some JobOwner) {
    csched_timer_init(timer, pointer, Unmanaged.passUnretained(owner).toOpaque())
  }

  /// Calls `body` on the owner of `job`, without counting the reference that the queue holds.
  @inline(__always)
  static func on<Owner: JobOwner>(
    _ job: UnsafeMutablePointer<csched_job>?, _: Owner.Type, _ body: (Owner) -> Void
  ) {
    Unmanaged<Owner>.fromOpaque(job!.pointee.context)._withUnsafeGuaranteedRef(body)
  }

  /// Gives back the reference that the queue holds.
  @inline(__always)
  static func release<Owner: JobOwner>(_ job: UnsafeMutablePointer<csched_job>?, _: Owner.Type) {
    let owner = Unmanaged<Owner>.fromOpaque(job!.pointee.context)
    owner._withUnsafeGuaranteedRef { $0.letGo() }
    owner.release()
    Counted.jobs(-1)
  }
}
