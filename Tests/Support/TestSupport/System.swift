import CTestSupport
import Foundation

/// The system's figures about this process and its threads.
public enum System {
  /// The calling thread's number.
  public static var threadID: UInt32 { ctest_thread_id() }

  /// How many threads the process has. Other tests may be running: prefer `threads(named:)`.
  public static var threadCount: Int { ctest_thread_count() }

  /// How many threads bear exactly `name`, as the system shows it (15 bytes at the most).
  public static func threads(named name: String) -> Int { ctest_threads_named(name) }

  /// How often a thread has gone to sleep of itself; `nil` when it is gone.
  public static func voluntarySwitches(ofThread id: UInt32) -> Int? {
    let count = ctest_thread_voluntary_switches(id)
    return count < 0 ? nil : Int(count)
  }

  /// A thread's context switches, voluntary and not; `nil` when the thread has ended.
  public static func switches(ofThread id: UInt32) -> Int? {
    let count = ctest_thread_switches(id)
    return count < 0 ? nil : Int(count)
  }

  /// The processor time that a thread has used, in nanoseconds; `nil` when it is gone.
  public static func processorTime(ofThread id: UInt32) -> Int? {
    let time = ctest_thread_processor_time(id)
    return time < 0 ? nil : Int(time)
  }

  /// The process's resident memory in bytes.
  public static var residentBytes: Int { Int(ctest_resident_bytes()) }
}

/// Calls `body` with the calling thread, and those that it starts meanwhile, on one processor.
public func runOnOneCPU(_ body: () -> Void) {
  withoutActuallyEscaping(body) { body in
    withUnsafePointer(to: body) { pointer in
      ctest_on_one_processor(
        { $0!.assumingMemoryBound(to: (() -> Void).self).pointee() }, UnsafeMutableRawPointer(mutating: pointer))
    }
  }
}

/// Calls `body` on a thread of its own with a stack of half a megabyte, and returns when that thread has ended.
public func withSmallStack(_ body: @escaping @Sendable () -> Void) {
  final class Call: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }
  var attributes = pthread_attr_t(), thread = pthread_t()
  pthread_attr_init(&attributes)
  pthread_attr_setstacksize(&attributes, 512 << 10)
  let failure = pthread_create(
    &thread, &attributes,
    { context in
      Unmanaged<Call>.fromOpaque(context!).takeRetainedValue().body()
      return nil
    }, Unmanaged.passRetained(Call(body)).toOpaque())
  precondition(failure == 0, "no thread: \(failure)")
  pthread_join(thread, nil)
  pthread_attr_destroy(&attributes)
}
