internal import CScheduler

/// The core's table of what to do with the jobs of one class.
struct JobType: @unchecked Sendable {
  // Unchecked, because a pointer is not Sendable; what it points to never changes, and lives as long as the process.
  let pointer: UnsafePointer<csched_job_type>

  /// - Parameters:
  ///   - type: what the table says.
  ///   - closure: where in each job the closure begins that is told to observers; `nil`: there is none.
  init(_ type: csched_job_type, closureAt closure: Int? = nil) {
    pointer = constantTable(type)
    if let closure { csched_swift_observe_(pointer, closure) }
  }
}
