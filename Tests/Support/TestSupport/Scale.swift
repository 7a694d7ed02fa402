import CTestSupport

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// How long the tests work: short under a sanitizer, as long as requested by `SCHEDULER_TEST_SCALE` (0.4 is the
/// default).
public enum Scale {
  public enum Sanitizer: Sendable { case none, address, thread }

  public static let sanitizer: Sanitizer =
    switch ctest_sanitizer() {
    case CTEST_THREAD_SANITIZER: .thread
    case CTEST_ADDRESS_SANITIZER: .address
    default: .none
    }

  /// The factor by which counts are multiplied.
  public static let factor: Double = {
    let requested = getenv("SCHEDULER_TEST_SCALE").flatMap { Double(String(cString: $0)) } ?? 0.4
    let usual =
      switch sanitizer {
      case .none: 1.0
      case .address: 0.5
      case .thread: 0.3
      }
    return max(requested, 0) * usual
  }()

  /// Whether each signal to the process comes at once, and counts. ThreadSanitizer puts a handler off while the thread
  /// sleeps in a system call of its own, and makes one of several signals that wait so.
  public static let signalsAreExact = sanitizer != .thread

  /// How many tests run at a time.
  public static let width = getenv("SCHEDULER_TEST_WIDTH").flatMap { Int(String(cString: $0)) } ?? 8

  /// `count`, scaled; at least `least`.
  public static func count<Count: BinaryInteger>(_ count: Count, least: Count = 1) -> Count {
    max(least, Count(Double(count) * factor))
  }
}
