internal import CScheduler
internal import Synchronization

/// Storage for a job of the C core, inline in the object that owns it.
///
/// `Atomic` is only storage here: its address stays the same during its lifetime, as the core requires. The storage is made of words,
/// because a larger alignment would make the object's allocation slower.
struct JobStorage: ~Copyable {
  private let words = FourWords()

  /// Creates zeroed storage. Stops the process if a job of the core is larger than the storage.
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
