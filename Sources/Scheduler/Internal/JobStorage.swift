internal import CScheduler
internal import Synchronization

/// Room for a job of the core, in line in the object that owns it.
///
/// `Atomic` is there for its storage only: it has a fixed address for as long as it lives, which is what the core asks for.
/// Words, because an alignment of more than theirs would cost the object a slower allocation.
struct JobStorage: ~Copyable {
  private let words = FourWords()

  /// All zero. Stops the process if the core's job has outgrown the room.
  init() {
    if MemoryLayout<csched_job>.size > MemoryLayout<FourWords>.size { misuse("JobStorage.init", "add words") }
  }

  var job: UnsafeMutablePointer<csched_job> {
    withUnsafePointer(to: words) { UnsafeMutableRawPointer(mutating: $0).assumingMemoryBound(to: csched_job.self) }
  }
}

private struct FourWords: ~Copyable {
  let a = Atomic<UInt64>(0), b = Atomic<UInt64>(0), c = Atomic<UInt64>(0), d = Atomic<UInt64>(0)
}
