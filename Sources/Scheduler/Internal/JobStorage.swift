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

/// Room for a timer of the core, in line in the object that owns it.
struct TimerStorage: ~Copyable {
  private let words = ThirteenWords()

  private struct ThirteenWords: ~Copyable {
    let a = FourWords(), b = FourWords(), c = FourWords(), d = Atomic<UInt64>(0)
  }

  /// All zero. Stops the process if the core's timer has outgrown the room.
  init() {
    if MemoryLayout<csched_timer>.size > MemoryLayout<ThirteenWords>.size { misuse("TimerStorage.init", "add words") }
  }

  var timer: UnsafeMutablePointer<csched_timer> {
    withUnsafePointer(to: words) { UnsafeMutableRawPointer(mutating: $0).assumingMemoryBound(to: csched_timer.self) }
  }

  /// The same memory: the job is the timer's first member.
  var job: UnsafeMutablePointer<csched_job> { UnsafeMutableRawPointer(timer).assumingMemoryBound(to: csched_job.self) }
}

private struct FourWords: ~Copyable {
  let a = Atomic<UInt64>(0), b = Atomic<UInt64>(0), c = Atomic<UInt64>(0), d = Atomic<UInt64>(0)
}
