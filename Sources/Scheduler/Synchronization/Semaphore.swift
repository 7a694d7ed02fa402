internal import CScheduler

/// Counts units that are given and taken by any threads: who waits for one gets it in the order of arrival.
///
/// ```swift
/// let slots = Semaphore(units: 4)
/// slots.wait()             // at most four at a time from here on
/// defer { slots.signal() }
/// ```
///
/// While somebody waits, a unit is handed to the first of them, and nobody else can take it. What was done before a signal is seen by who gets
/// its unit. On a thread of the pool another one takes the waiter's place. On the thread of a ``ThreadScheduler``, and on the main thread, the
/// wait holds the scheduler up: what signals must run elsewhere; to serve the scheduler meanwhile, wait with ``RunLoopLock``.
///
/// A number that cannot be, and more than 2^31 - 1 free units, stop the process with a message. In a child of fork nobody waits; the units are
/// there.
public final class Semaphore: Sendable {
  private let inline = InlineStruct<csched_semaphore, UInt32>()

  /// Makes a semaphore with so many free units, 0 up to 2^31 - 1.
  ///
  /// - Parameter units: how many are free at first, from 0 to 2^31 - 1.
  public init(units: Int = 0) { csched_semaphore_init(inline.pointer, checked(units, "Semaphore.init", "units")) }

  /// Takes a unit, waiting as long as it must.
  @available(*, noasync, message: "it blocks a thread of Swift's own: await a continuation, or scheduler.perform")
  public func wait() { csched_semaphore_wait(inline.pointer) }

  /// Takes a unit, waiting for `timeout` at the most, and tells whether it did. A timeout that is not positive does not wait.
  ///
  /// - Parameter timeout: how long to wait at the most. One that is not positive does not wait.
  @available(*, noasync, message: "it blocks a thread of Swift's own: await a continuation, or scheduler.perform")
  public func wait(for timeout: Duration) -> Bool { csched_semaphore_wait_until(inline.pointer, timeout.deadline) }

  /// Takes a unit, waiting until `deadline` at the most, and tells whether it did. A deadline in the past does not wait.
  ///
  /// - Parameter deadline: until when to wait at the most. One in the past does not wait.
  @available(*, noasync, message: "it blocks a thread of Swift's own: await a continuation, or scheduler.perform")
  public func wait(until deadline: MonotonicTime) -> Bool {
    csched_semaphore_wait_until(inline.pointer, deadline.nanoseconds)
  }

  /// Takes a unit if one is free, and tells whether it did. Never waits.
  public func tryWait() -> Bool { csched_semaphore_trywait(inline.pointer) }

  /// Gives so many units, first to those that wait.
  ///
  /// - Parameter units: how many to give.
  public func signal(_ units: Int = 1) {
    csched_semaphore_signal(inline.pointer, checked(units, "Semaphore.signal", "units"))
  }

  /// How many units are free at this instant: for diagnostics.
  public var freeUnits: Int { Int(csched_semaphore_units(inline.pointer)) }
}

/// `number` as one of the core's; stops the process with a message where it is none.
func checked(_ number: Int, _ function: String, _ what: String) -> UInt32 {
  guard let fitting = UInt32(exactly: number), fitting <= Int32.max else {
    misuse(function, "\(number) \(what) cannot be. Give 0 up to 2147483647.")
  }
  return fitting
}
