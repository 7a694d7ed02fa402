internal import CScheduler

/// The core's table of functions for the jobs of one class.
struct JobType: @unchecked Sendable {
  // Unchecked, because a pointer is not Sendable. The table never changes, and is never freed.
  let pointer: UnsafePointer<csched_job_type>

  /// - Parameters:
  ///   - type: the contents of the table.
  ///   - closure: the offset, in each job, of the closure that is reported to observers; `nil` if there is none.
  init(_ type: csched_job_type, closureAt closure: Int? = nil) {
    pointer = constantTable(type)
    if let closure { csched_swift_observe_(pointer, closure) }
  }
}
