// Imported publicly, because the fast path of `Protected` is inlined into other modules. No C type is in a public
// signature.
public import CScheduler
public import Synchronization

/// The 4-byte lock of the C core, stored inline in the class or the noncopyable value that owns it.
/// `Atomic` is only storage here, because its address never changes, as the lock requires. Only the C core reads and
/// writes it.
/// Its functions are inlined for the benchmark's row `Protected.withLock`. Figures: Documentation/Internals/Lock.md,
/// "Swift over the lock".
@frozen
@usableFromInline
struct InlineLock: ~Copyable, Sendable {
  @usableFromInline let word = Atomic<UInt32>(0)  // 0: unlocked

  @inlinable
  init() {}

  /// The C core's view of `word`.
  @inlinable
  var pointer: UnsafeMutablePointer<csched_lock> {
    @inline(__always) get {
      withUnsafePointer(to: word) {
        UnsafeMutableRawPointer(mutating: $0).assumingMemoryBound(to: csched_lock.self)
      }
    }
  }

  @inlinable @inline(__always)
  func lock() { csched_lock_lock(pointer) }

  @inlinable @inline(__always)
  func unlock() { csched_lock_unlock(pointer) }

  @inlinable @inline(__always)
  func tryLock() -> Bool { csched_lock_trylock(pointer) }

  @inlinable @inline(__always)
  func withLock<Result: ~Copyable, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    lock()
    defer { unlock() }
    return try body()
  }
}
