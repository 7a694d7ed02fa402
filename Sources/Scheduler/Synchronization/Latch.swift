internal import CScheduler

/// Opens when it has been counted down, once and for good, and lets all pass who wait for that.
///
/// ```swift
/// let ready = Latch(count: 3)
/// for part in parts { queue.schedule { part.load(); ready.countDown() } }
/// guard ready.wait(for: .seconds(5)) else { throw LoadError.tooSlow }
/// ```
///
/// What was done before a count is seen by who passes. On a thread of the pool another one takes the waiter's place. On the thread of a
/// ``ThreadScheduler``, and on the main thread, the wait holds the scheduler up: what counts down must run elsewhere; to serve the scheduler
/// meanwhile, wait with ``RunLoopLock``.
///
/// A number that cannot be, and a count below zero, stop the process with a message. In a child of fork nobody waits; the count is there.
public final class Latch: Sendable {
  private let inline = InlineStruct<csched_latch, UInt32>()

  /// Makes a latch that opens after `count`, 0 up to 2^31 - 1; at once for 0.
  public init(count: Int) { csched_latch_init(inline.pointer, checked(count, "Latch.init", "to count down")) }

  /// Counts down, and opens the latch when nothing is left.
  ///
  /// - Parameter count: by how much.
  public func countDown(by count: Int = 1) {
    csched_latch_count_down(inline.pointer, checked(count, "Latch.countDown", "to count down"))
  }

  /// Waits until the latch is open.
  @available(*, noasync, message: "it blocks a thread of Swift's own: await a continuation, or scheduler.perform")
  public func wait() { csched_latch_wait(inline.pointer) }

  /// Waits until the latch is open, for `timeout` at the most, and tells whether it is. A timeout that is not positive does not wait.
  ///
  /// - Parameter timeout: how long to wait at the most. One that is not positive does not wait.
  @available(*, noasync, message: "it blocks a thread of Swift's own: await a continuation, or scheduler.perform")
  public func wait(for timeout: Duration) -> Bool { csched_latch_wait_until(inline.pointer, timeout.deadline) }

  /// Waits until the latch is open, until `deadline` at the most, and tells whether it is. A deadline in the past does not wait.
  ///
  /// - Parameter deadline: until when to wait at the most. One in the past does not wait.
  @available(*, noasync, message: "it blocks a thread of Swift's own: await a continuation, or scheduler.perform")
  public func wait(until deadline: MonotonicTime) -> Bool {
    csched_latch_wait_until(inline.pointer, deadline.nanoseconds)
  }

  /// How much is left to count down; 0 is open.
  public var count: Int { Int(csched_latch_count(inline.pointer)) }

  /// Whether it is open. What was done before the counts is then seen.
  public var isOpen: Bool { count == 0 }
}
