internal import Synchronization

/// A struct of the C core, as large as one word, stored in line in the class that owns it. All zero at first.
///
/// `Atomic` is there for its storage only: it has a fixed address for as long as it lives, which is what the core asks for.
struct InlineStruct<Struct, Word: AtomicRepresentable & FixedWidthInteger>: ~Copyable, @unchecked Sendable {
  // Unchecked, because the struct is the core's, which any thread may call.
  private let word = Atomic<Word>(0)

  var pointer: UnsafeMutablePointer<Struct> {
    withUnsafePointer(to: word) { UnsafeMutableRawPointer(mutating: $0).assumingMemoryBound(to: Struct.self) }
  }
}
