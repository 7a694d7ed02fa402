internal import Synchronization

/// Units that tasks wait for, first in, first out. Each ``AsyncSemaphore``, ``AsyncLock`` and ``AsyncLimit`` has one `AsyncUnits`.
/// A free unit goes to the first waiting task, and no other task can acquire it. Only code of this file runs under the lock.
/// Functions that lock are never inlined into async functions. The lock's fast path reads a thread-local variable. An optimised async function may
/// keep the variable's address across a suspension, and then run on another thread.
final class AsyncUnits: @unchecked Sendable {
  // Unchecked, because the compiler does not know that the lock guards the fields, and those of each `Ticket`.
  private let lock = InlineLock()
  @exclusivity(unchecked) private var free: Int  // the number of units that no task has acquired
  @exclusivity(unchecked) private var first: Ticket?  // the oldest waiting request: the head of the list
  // the newest waiting request; `first` and the `next` links retain it
  @exclusivity(unchecked) private unowned(unsafe) var last: Ticket?
  private let waiters = Atomic(0)  // the length of the list, changed under the lock

  /// Creates units, all free.
  init(_ units: Int) { free = units }

  /// A request for units: in the list while it waits, and with an outcome once it is granted, cancelled or timed out.
  final class Ticket: PendingResumption, @unchecked Sendable {
    // Unchecked: the lock of the AsyncUnits guards the fields.
    fileprivate let units: Int  // how many units are requested
    fileprivate var outcome: Result<Void, any Error>?  // nil while the request waits
    fileprivate var continuation: UnsafeContinuation<Void, Never>?  // nil until the task is suspended
    // in the list of waiting requests; once there is an outcome, in a list of tasks to resume
    fileprivate var next: Ticket?
    fileprivate unowned(unsafe) var previous: Ticket?  // in the list of waiting requests

    fileprivate init(_ units: Int) { self.units = units }

    /// Resumes the tasks of the requests in the list that begins here, in order. Without a continuation, the task is not suspended yet: it then finds
    /// the outcome itself.
    override func resume() {
      var each: Ticket? = self
      while let ticket = each {
        each = ticket.next.take()
        ticket.continuation?.resume()
      }
    }
  }

  /// The number of free units, and of requests that wait.
  var counts: (free: Int, waiters: Int) { lock.withLock { (free, waiters.load(ordering: .relaxed)) } }  // a count

  /// Whether a request waits. The answer may be out of date at once.
  var hasWaiters: Bool { waiters.load(ordering: .relaxed) > 0 }  // a count

  /// Acquires `units` if that many are free and no request waits. Returns whether it acquired them.
  @inline(never) func tryTake(_ units: Int) -> Bool { lock.withLock { takeLocked(units) } }

  /// Acquires `units` as ``tryTake(_:)`` does; throws if the task is cancelled. If it returns false, call `request`, then `outcome(of:)`.
  /// Not async: on this fast path, a call of an async function would cost more than the rest.
  @inline(never) func takeIfFree(_ units: Int) throws(CancellationError) -> Bool {
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

  /// Returns the outcome of a request that has one.
  @inline(never)
  private func outcome(of ticket: Ticket) -> Result<Void, any Error> { lock.withLock { ticket.outcome! } }

  /// As `outcome(of:isolation:)`, until `deadline` at the latest. Then throws `SchedulerError.timeout`, or before it the error of the clock.
  func outcome(of ticket: Ticket, _ deadline: AnyDeadline, isolation: isolated (any Actor)?) async throws {
    if deadline.hasPassed() { fail(ticket, SchedulerError.timeout) }  // at once; no effect if the request was granted
    let timer = deadline.start { self.fail(ticket, $0) }  // a task; it sleeps until the deadline
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
    granted?.resumeOutsideJobs()
    return fits
  }

  /// Ends a waiting request with `error`: removes it from the list, and resumes its task. Does nothing if the request has an outcome.
  @inline(never) private func fail(_ ticket: Ticket, _ error: any Error) {
    var granted: Ticket?
    lock.withLock {
      guard ticket.outcome == nil else { return }
      removeLocked(ticket)
      ticket.outcome = .failure(error)
      granted = grantLocked()  // later requests may need fewer units
      ticket.next = granted  // puts the failed request first in the list of tasks to resume
      granted = ticket
    }
    granted?.resumeOutsideJobs()
  }

  // MARK: Under the lock

  /// Acquires `units` if that many are free and no request waits. Returns whether it acquired them.
  private func takeLocked(_ units: Int) -> Bool {
    guard first == nil, free >= units else { return false }  // waiting requests come first
    free -= units
    return true
  }

  /// Grants requests from the first on, while units suffice. Returns the granted requests as a list; the caller resumes their tasks after unlocking.
  private func grantLocked() -> Ticket? {
    var granted: Ticket?
    unowned(unsafe) var newest: Ticket?  // the last request in the list `granted`
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

  /// Unlinks `ticket` from the list, and clears its links. Requires: it is in the list.
  private func removeLocked(_ ticket: Ticket) {
    let next = ticket.next.take()
    next?.previous = ticket.previous
    if let previous = ticket.previous { previous.next = next } else { first = next }
    if last === ticket { last = ticket.previous }
    ticket.previous = nil
    waiters.subtract(1, ordering: .relaxed)  // a count
  }
}
