internal import Synchronization

/// A struct of the C core, as large as one word, stored inline in the class that owns it. Initially all zero.
///
/// `Atomic` is only storage here: its address stays the same during its lifetime, as the core requires.
struct InlineStruct<Struct, Word: AtomicRepresentable & FixedWidthInteger>: ~Copyable, @unchecked Sendable {
  // Unchecked: the struct belongs to the core, whose functions any thread may call on it.
  private let word = Atomic<Word>(0)

  var pointer: UnsafeMutablePointer<Struct> {
    withUnsafePointer(to: word) { UnsafeMutableRawPointer(mutating: $0).assumingMemoryBound(to: Struct.self) }
  }
}
