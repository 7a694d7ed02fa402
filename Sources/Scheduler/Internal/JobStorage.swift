internal import CScheduler
internal import Synchronization

/// Storage for a job of the C core, inline in the object that owns it. `Atomic` is only storage here, because its
/// address never changes, as the C core requires. The storage consists of 8-byte words, because a larger alignment
/// would make the object's allocation slower.
struct JobStorage: ~Copyable {
  private let words = FourWords()

  /// Creates zeroed storage. Stops the process if a `csched_job` does not fit.
  init() {
    if MemoryLayout<csched_job>.size > MemoryLayout<FourWords>.size { misuse("JobStorage.init", "add words") }
  }

  /// The C core's view of the storage.
  var job: UnsafeMutablePointer<csched_job> {
    withUnsafePointer(to: words) { UnsafeMutableRawPointer(mutating: $0).assumingMemoryBound(to: csched_job.self) }
  }
}

/// Storage of the size of a `csched_job`.
private struct FourWords: ~Copyable {
  let a = Atomic<UInt64>(0), b = Atomic<UInt64>(0), c = Atomic<UInt64>(0), d = Atomic<UInt64>(0)
}

/// The C core's function table for one kind of job.
struct JobType: @unchecked Sendable {
  // Unchecked, because of the pointer. The table never changes, and is never freed.
  let pointer: UnsafePointer<csched_job_type>

  /// - Parameters:
  ///   - type: the contents of the table.
  ///   - closure: where a job stores the user's closure, as a byte offset, so that dumps and traces can name it; `nil`
  ///     if a job has none.
  init(_ type: csched_job_type, closureAt closure: Int? = nil) {
    pointer = constantTable(type)
    if let closure { csched_swift_observe_(pointer, closure) }  // registers the offset with the observers of jobs
  }
}

/// A struct of the C core that fits in one `Word`, stored inline in the class that owns it. Initially all zero.
/// `Atomic` is only storage here: its address never changes, as the C core requires.
struct InlineStruct<Struct, Word: AtomicRepresentable & FixedWidthInteger>: ~Copyable, @unchecked Sendable {
  // Unchecked: any thread may call the C core's functions on the struct.
  private let word = Atomic<Word>(0)

  /// The C core's view of `word`.
  var pointer: UnsafeMutablePointer<Struct> {
    withUnsafePointer(to: word) { UnsafeMutableRawPointer(mutating: $0).assumingMemoryBound(to: Struct.self) }
  }
}

/// Returns a copy of `value` that never changes and is never freed, as the C core requires for a table of functions.
func constantTable<Table>(_ value: Table) -> UnsafePointer<Table> {
  let memory = UnsafeMutablePointer<Table>.allocate(capacity: 1)
  memory.initialize(to: value)
  return UnsafePointer(memory)
}
