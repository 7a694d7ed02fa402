import CTestSupport

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A random generator that can be replayed: its seed comes from `SCHEDULER_TEST_SEED`, otherwise from the clock, and is
/// printed when it is made.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
  public let seed: UInt64
  private var state: UInt64

  public init(seed: UInt64) {
    self.seed = seed
    state = seed
  }

  /// A generator for the test called `name`.
  public init(for name: String) {
    self.init(seed: Self.freshSeed(for: name))
  }

  /// A seed for the test called `name`, printed so that the run can be repeated.
  public static func freshSeed(for name: String) -> UInt64 {
    let requested = getenv("SCHEDULER_TEST_SEED").flatMap { UInt64(String(cString: $0)) }
    let seed = requested ?? csched_now()
    print("\(name): SCHEDULER_TEST_SEED=\(seed)")
    return seed
  }

  public mutating func next() -> UInt64 {  // SplitMix64
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
