internal import CScheduler

/// The core's table of what to do with the jobs of one class.
struct JobType: @unchecked Sendable {
  // Unchecked, because a pointer is not Sendable; what it points to never changes, and lives as long as the process.
  let pointer: UnsafePointer<csched_job_type>

  init(_ type: csched_job_type) { pointer = constantTable(type) }
}
