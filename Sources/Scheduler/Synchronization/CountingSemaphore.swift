internal import CScheduler

/// A counting semaphore: any thread may add and acquire units, and waiters get units in order of arrival.
///
/// ```swift
/// let slots = CountingSemaphore(units: 4)
/// slots.wait()             // at most four at a time from here on
/// defer { slots.signal() }
/// ```
///
/// While a thread waits, each new unit goes to the first waiter, and no other thread can acquire it. The thread that
/// gets a unit sees all writes made before the signal. If the waiter is a pool thread, another thread replaces it in
/// the pool. On the thread of a ``ThreadScheduler``, and on the main thread, the wait blocks the scheduler: another
/// thread must signal. To run the scheduler's actions meanwhile, wait with ``RunLoopLock``.
///
/// An argument outside 0 to 2^31 - 1, and a signal that would make more units free than that, stop the process with a
/// message. In a child of fork, the free units stay, and there are no waiters.
public final class CountingSemaphore: Sendable {
  private let inline = InlineStruct<csched_semaphore, UInt32>()  // the C struct, stored in this object; `init` sets it

  /// Creates a semaphore with `units` free units.
  ///
  /// - Parameter units: the initial number of free units, from 0 to 2^31 - 1.
  public init(units: Int = 0) {
    csched_semaphore_init(inline.pointer, checked(units, "CountingSemaphore.init", "units"))
  }

  /// Acquires a unit, waiting as long as necessary.
  @available(*, noasync, message: "it blocks a thread of Swift's own: await a continuation, or scheduler.perform")
  public func wait() { csched_semaphore_wait(inline.pointer) }

  /// Acquires a unit, waiting at most `timeout`, and returns whether it acquired one.
  ///
  /// - Parameter timeout: the longest wait. A timeout that is not positive does not wait.
  @available(*, noasync, message: "it blocks a thread of Swift's own: await a continuation, or scheduler.perform")
  public func wait(for timeout: Duration) -> Bool { csched_semaphore_wait_until(inline.pointer, timeout.deadline) }

  /// Acquires a unit, waiting until `deadline` at the latest, and returns whether it acquired one.
  ///
  /// - Parameter deadline: the end of the wait. A deadline in the past does not wait.
  @available(*, noasync, message: "it blocks a thread of Swift's own: await a continuation, or scheduler.perform")
  public func wait(until deadline: MonotonicTime) -> Bool {
    csched_semaphore_wait_until(inline.pointer, deadline.nanoseconds)
  }

  /// Acquires a unit if one is free, and returns whether it acquired one. Never waits.
  public func tryWait() -> Bool { csched_semaphore_trywait(inline.pointer) }

  /// Adds units. Waiters get them first.
  ///
  /// - Parameter units: the number of units, from 0 to 2^31 - 1.
  public func signal(_ units: Int = 1) {
    csched_semaphore_signal(inline.pointer, checked(units, "CountingSemaphore.signal", "units"))
  }

  /// The number of free units at this instant, for diagnostics.
  public var freeUnits: Int { Int(csched_semaphore_units(inline.pointer)) }
}

// Says what to write in place of a name that is natural to try. It makes no other `Semaphore` ambiguous, because it is
// unavailable.
@available(*, unavailable, renamed: "CountingSemaphore", message: "Glibc has a type with this name")
public typealias Semaphore = CountingSemaphore
