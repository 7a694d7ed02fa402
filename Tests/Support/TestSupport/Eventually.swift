import CTestSupport

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Polls `condition` until it holds, for `seconds` at most. Returns whether it holds.
public func eventually(within seconds: Double = 200, _ condition: () throws -> Bool) rethrows -> Bool {
  let end = csched_time_after(csched_now(), Int64(seconds * 1e9))
  while try !condition() {
    if csched_now() >= end { return try condition() }
    usleep(100)
  }
  return true
}

/// Polls `condition`, which another task makes true, for some seconds at most. Returns whether it holds.
public func soon(_ condition: () -> Bool) async -> Bool {
  for _ in 0..<50_000 {
    if condition() { return true }
    try? await Task.sleep(for: .microseconds(100))
  }
  return condition()
}

/// The finding of a check in C, `nil` if none.
public func failure(of finding: ctest_finding?) -> String? {
  finding.map { String(cString: $0) }
}

/// Waits while `condition` holds: yields at first; then it sleeps, because beside busy threads a yield takes some
/// milliseconds.
public func waitWhile(_ condition: () -> Bool) {
  let end = csched_time_after(csched_now(), 200_000)
  while condition() {
    if csched_now() < end { sched_yield() } else { usleep(20) }
  }
}
