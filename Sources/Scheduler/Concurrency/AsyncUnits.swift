internal import Synchronization

/// Units that tasks wait for, first in, first out. Each ``AsyncSemaphore``, ``AsyncLock`` and ``AsyncLimit`` has one `AsyncUnits`.
/// A free unit goes to the first waiting task, and no other task can acquire it. Only code of this file runs under the lock.
/// Functions that lock are never inlined. The lock's fast path reads a thread-local variable, and an optimised async function may keep its address
/// across a suspension, after which it runs on another thread.
final class AsyncUnits: @unchecked Sendable {
  // Unchecked, because the compiler does not know that the lock guards the fields, and those of each `Ticket`.
  private let lock = InlineLock()
  @exclusivity(unchecked) private var free: Int  // units
  @exclusivity(unchecked) private var first: Ticket?  // the list of waiting requests, oldest first
  @exclusivity(unchecked) private unowned(unsafe) var last: Ticket?  // the newest one
  private let waiters = Atomic(0)  // the length of the list, changed under the lock

  init(_ units: Int) { free = units }

  /// A request for units: in the list while it waits, and with an outcome once it is granted, cancelled or timed out.
  final class Ticket: @unchecked Sendable {
    // Unchecked: see AsyncUnits.
    fileprivate let units: Int
    fileprivate var outcome: Result<Void, any Error>?  // nil while the request waits
    fileprivate var continuation: UnsafeContinuation<Void, Never>?  // nil until the task is suspended
    fileprivate var next: Ticket?  // in the list, or in a list of tasks to resume
    fileprivate unowned(unsafe) var previous: Ticket?

    fileprivate init(_ units: Int) { self.units = units }
  }

  /// The number of free units, and of requests that wait.
  var counts: (free: Int, waiters: Int) { lock.withLock { (free, waiters.load(ordering: .relaxed)) } }  // a count

  /// Whether a request waits; at once out of date.
  var hasWaiters: Bool { waiters.load(ordering: .relaxed) > 0 }  // a count

  /// Acquires `units` if that many are free and no request waits. Returns whether it acquired them.
  @inline(never) func tryTake(_ units: Int) -> Bool { lock.withLock { takeLocked(units) } }

  /// Acquires `units` as ``tryTake(_:)`` does, unless the task is cancelled. If it returns false, call `request`, then `outcome(of:)`.
  /// Not async, because a call of an async function costs more than all else here.
  @inline(never) func takeFast(_ units: Int) throws(CancellationError) -> Bool {
    if Task.isCancelled { throw CancellationError() }
    return tryTake(units)
  }

  /// Appends a request to the list, or grants it at once. The caller must call `outcome(of:)` once for each request.
  @inline(never) func request(_ units: Int) -> Ticket {
    let ticket = Ticket(units)
    lock.withLock {
      if takeLocked(units) { ticket.outcome = .success(()) } else { appendLocked(ticket) }
    }
    return ticket
  }

  /// Suspends the task until the request is granted. Throws `CancellationError` if the task is cancelled first.
  func outcome(of ticket: Ticket, isolation: isolated (any Actor)?) async throws {
    await withTaskCancellationHandler {
      await withUnsafeContinuation(isolation: isolation) { continuation in
        if hasOutcome(ticket, elseStoring: continuation) { continuation.resume() }
      }
    } onCancel: {
      fail(ticket, CancellationError())
    }
    try outcome(of: ticket).get()
  }

  /// Returns whether the request has an outcome. If not, stores `continuation`, which is resumed once there is an outcome.
  @inline(never)
  private func hasOutcome(_ ticket: Ticket, elseStoring continuation: UnsafeContinuation<Void, Never>) -> Bool {
    lock.withLock {
      if ticket.outcome == nil { ticket.continuation = continuation }
      return ticket.outcome != nil
    }
  }

  @inline(never)
  private func outcome(of ticket: Ticket) -> Result<Void, any Error> { lock.withLock { ticket.outcome! } }

  /// Suspends the task until the request is granted. Throws `CancellationError` if the task is cancelled first, and the error of `deadline` if
  /// the deadline comes first.
  func outcome(of ticket: Ticket, _ deadline: Deadline, isolation: isolated (any Actor)?) async throws {
    if deadline.hasPassed() { fail(ticket, SchedulerError.timeout) }
    let timer = deadline.start { self.fail(ticket, $0) }
    defer { timer.cancel() }
    try await outcome(of: ticket, isolation: isolation)
  }

  /// Adds `units` to the free ones, and grants waiting requests. Returns false, without an effect, if more than Int32.max would be free.
  @discardableResult @inline(never)
  func give(_ units: Int) -> Bool {
    var granted: Ticket?
    let fits = lock.withLock {
      let (sum, overflows) = free.addingReportingOverflow(units)
      if overflows || sum > Int(Int32.max) { return false }
      free = sum
      granted = grantLocked()
      return true
    }
    Self.resume(granted)
    return fits
  }

  /// Removes a waiting request from the list, with `error` as its outcome. Does nothing if the request has an outcome.
  @inline(never) private func fail(_ ticket: Ticket, _ error: any Error) {
    var granted: Ticket?
    lock.withLock {
      guard ticket.outcome == nil else { return }
      removeLocked(ticket)
      ticket.outcome = .failure(error)
      granted = grantLocked()  // later requests may need fewer units
      ticket.next = granted  // the failed request's task is resumed first
      granted = ticket
    }
    Self.resume(granted)
  }

  // MARK: Under the lock

  private func takeLocked(_ units: Int) -> Bool {
    guard first == nil, free >= units else { return false }
    free -= units
    return true
  }

  /// Grants requests from the first on, while units suffice. Returns the granted requests as a list; the caller resumes their tasks after unlocking.
  private func grantLocked() -> Ticket? {
    var granted: Ticket?
    unowned(unsafe) var newest: Ticket?
    while let ticket = first, free >= ticket.units {
      free -= ticket.units
      removeLocked(ticket)
      ticket.outcome = .success(())
      if let newest { newest.next = ticket } else { granted = ticket }
      newest = ticket
    }
    return granted
  }

  private func appendLocked(_ ticket: Ticket) {
    ticket.previous = last
    if let last { last.next = ticket } else { first = ticket }
    last = ticket
    waiters.add(1, ordering: .relaxed)  // a count
  }

  private func removeLocked(_ ticket: Ticket) {
    let next = ticket.next.take()
    next?.previous = ticket.previous
    if let previous = ticket.previous { previous.next = next } else { first = next }
    if last === ticket { last = ticket.previous }
    ticket.previous = nil
    waiters.subtract(1, ordering: .relaxed)  // a count
  }

  /// Resumes the tasks of the requests in `list`, in order. A task that is not suspended yet checks the outcome itself.
  private static func resume(_ list: Ticket?) {
    var each = list
    while let ticket = each {
      each = ticket.next.take()
      ticket.continuation?.resume()
    }
  }
}
