internal import Synchronization

/// Units that tasks wait for, first in, first out. Each of ``AsyncSemaphore``, ``AsyncLock`` and ``AsyncLimit`` has one.
///
/// A free unit goes to the first waiter, and no other task can take it. No code but this file's runs under the lock.
///
/// Functions that lock are never inlined. The lock's fast path reads a thread-local variable, and an optimised async function may keep its address
/// across a suspension, after which it runs on another thread.
final class AsyncUnits: @unchecked Sendable {
  // Unchecked, because the compiler does not know that the lock guards the fields, and those of each `Ticket`.
  private let lock = InlineLock()
  @exclusivity(unchecked) private var free: Int
  @exclusivity(unchecked) private var first: Ticket?
  @exclusivity(unchecked) private unowned(unsafe) var last: Ticket?
  private let waiters = Atomic(0)

  init(_ units: Int) { free = units }

  /// A request for units.
  final class Ticket: @unchecked Sendable {
    // Unchecked: see AsyncUnits.
    fileprivate let units: Int
    fileprivate var outcome: Result<Void, any Error>?
    fileprivate var continuation: UnsafeContinuation<Void, Never>?
    fileprivate var next: Ticket?
    fileprivate unowned(unsafe) var previous: Ticket?

    fileprivate init(_ units: Int) { self.units = units }
  }

  /// The number of free units, and of requests that wait.
  var counts: (free: Int, waiters: Int) { lock.withLock { (free, waiters.load(ordering: .relaxed)) } }  // a count

  /// Whether a request waits; at once out of date.
  var hasWaiters: Bool { waiters.load(ordering: .relaxed) > 0 }  // a count

  /// Takes `units` if that many are free and no request waits. Returns whether it did.
  @inline(never) func tryTake(_ units: Int) -> Bool { lock.withLock { takeLocked(units) } }

  /// Takes `units` as ``tryTake(_:)`` does, unless the task is cancelled. If it returns false, wait for the outcome of a `request`.
  ///
  /// Not async, because a call of an async function costs more than all else here.
  @inline(never) func takeFast(_ units: Int) throws(CancellationError) -> Bool {
    if Task.isCancelled { throw CancellationError() }
    return tryTake(units)
  }

  /// Puts a request at the end of the list, or grants it at once. Each request needs one call of `outcome(of:)`.
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
        if isOver(ticket, elseResuming: continuation) { continuation.resume() }
      }
    } onCancel: {
      end(ticket, CancellationError())
    }
    try outcome(of: ticket).get()
  }

  /// Returns whether the request has an outcome. If not, its end resumes `continuation`.
  @inline(never)
  private func isOver(_ ticket: Ticket, elseResuming continuation: UnsafeContinuation<Void, Never>) -> Bool {
    lock.withLock {
      if ticket.outcome == nil { ticket.continuation = continuation }
      return ticket.outcome != nil
    }
  }

  @inline(never)
  private func outcome(of ticket: Ticket) -> Result<Void, any Error> { lock.withLock { ticket.outcome! } }

  /// Suspends the task until the request is granted. Throws `CancellationError` if the task is cancelled first, and the error of `deadline` if it
  /// comes first.
  func outcome(of ticket: Ticket, _ deadline: Deadline, isolation: isolated (any Actor)?) async throws {
    if deadline.hasPassed() { end(ticket, SchedulerError.timeout) }
    let timer = deadline.start { self.end(ticket, $0) }
    defer { timer.cancel() }
    try await outcome(of: ticket, isolation: isolation)
  }

  /// Returns `units`, and grants the requests that they suffice for. Returns false, and does nothing, if there would be too many.
  @discardableResult @inline(never)
  func give(_ units: Int) -> Bool {
    var granted: Ticket?
    let fits = lock.withLock {
      let (sum, isOver) = free.addingReportingOverflow(units)
      if isOver || sum > Int(Int32.max) { return false }
      free = sum
      granted = grantLocked()
      return true
    }
    Self.resume(granted)
    return fits
  }

  /// Ends a request that waits, with `error`. Does nothing to one that is granted or ended.
  @inline(never) private func end(_ ticket: Ticket, _ error: any Error) {
    var granted: Ticket?
    lock.withLock {
      guard ticket.outcome == nil else { return }
      removeLocked(ticket)
      ticket.outcome = .failure(error)
      granted = grantLocked()  // requests behind it may need fewer units
      ticket.next = granted
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

  /// Grants requests from the first on, while units suffice. Returns them as a list, whose tasks the caller resumes without the lock.
  private func grantLocked() -> Ticket? {
    var granted: Ticket?
    unowned(unsafe) var end: Ticket?
    while let ticket = first, free >= ticket.units {
      free -= ticket.units
      removeLocked(ticket)
      ticket.outcome = .success(())
      if let end { end.next = ticket } else { granted = ticket }
      end = ticket
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

  /// Resumes the tasks of a list of ended requests, in order. A task that does not wait yet finds the outcome.
  private static func resume(_ list: Ticket?) {
    var each = list
    while let ticket = each {
      each = ticket.next.take()
      ticket.continuation?.resume()
    }
  }
}
