internal import Synchronization

/// Units that tasks wait for: a higher level first, and in each level in order of arrival. Each ``AsyncSemaphore``,
/// ``AsyncLock`` and ``AsyncLimit`` has one `AsyncUnits`.
/// A free unit goes to the next waiting task, and no other task can acquire it. Only code of this file runs under the
/// lock.
/// Functions that lock are never inlined into async functions. The lock's fast path reads a thread-local variable. An
/// optimised async function may keep the variable's address across a suspension, and then run on another thread.
final class AsyncUnits: @unchecked Sendable {
  // Unchecked, because the compiler does not know that the lock guards the fields, and those of each `Ticket`.
  private let lock = InlineLock()
  @exclusivity(unchecked) private var free: Int  // the number of units that no task has acquired
  @exclusivity(unchecked) private var lists: InlineArray<4, TicketList> = .init(repeating: TicketList())  // by level
  // the number of requests in the lists, without those for idleness; changed under the lock
  private let waiters = Atomic(0)
  private let finished = Atomic(false)  // new requests fail; changed under the lock
  @exclusivity(unchecked) private var returned = 0  // how many units were given back by users that did their work
  // how many requests failed, or were given back by users that were cancelled
  @exclusivity(unchecked) private var cancelled = 0

  /// Creates units, all free.
  init(_ units: Int) { free = units }

  /// The order in which requests are granted. A lower level than the first one with requests is passed over at most 16
  /// times, the next one 32 times.
  enum Level: Int {
    case high, usual, low
    case idle  // waits until there is no other request, and acquires nothing
  }

  /// The waiting requests of one level, oldest first.
  private struct TicketList {
    var first: Ticket?
    unowned(unsafe) var last: Ticket?  // `first` and the `next` links retain it
    var passed = 0  // how many requests of higher levels were granted while this list had requests

    mutating func append(_ ticket: Ticket) {
      ticket.previous = last
      if let last { last.next = ticket } else { first = ticket }
      last = ticket
    }

    /// Unlinks `ticket`, and clears its links. Requires: it is in this list.
    mutating func remove(_ ticket: Ticket) {
      let next = ticket.next.take()
      next?.previous = ticket.previous
      if let previous = ticket.previous { previous.next = next } else { first = next }
      if last === ticket { last = ticket.previous }
      ticket.previous = nil
      passed = first == nil ? 0 : passed
    }
  }

  /// A request for units: in a list while it waits, and with an outcome once it is granted, cancelled or timed out.
  final class Ticket: PendingResumption, @unchecked Sendable {
    // Unchecked: the lock of the AsyncUnits guards the fields.
    fileprivate let units: Int  // how many units are requested
    fileprivate let level: Level
    fileprivate var outcome: Result<Void, any Error>?  // nil while the request waits
    fileprivate var continuation: UnsafeContinuation<Void, Never>?  // nil until the task is suspended
    // in a list of waiting requests; once there is an outcome, in a list of tasks to resume
    fileprivate var next: Ticket?
    fileprivate unowned(unsafe) var previous: Ticket?  // in the list of waiting requests

    fileprivate init(_ units: Int, _ level: Level) { (self.units, self.level) = (units, level) }

    /// Resumes the tasks of the requests in the list that begins here, in order. Without a continuation, the task is
    /// not suspended yet: it then finds the outcome itself.
    override func resume() {
      var each: Ticket? = self
      while let ticket = each {
        each = ticket.next.take()
        ticket.continuation?.resume()
      }
    }
  }

  /// The numbers of free units and of requests that wait at this instant, and what was returned and cancelled so far.
  var counts: (free: Int, waiters: Int, returned: Int, cancelled: Int) {
    lock.withLock { (free, waiters.load(ordering: .relaxed), returned, cancelled) }  // a count
  }

  /// Whether ``finish(failsWaiters:)`` was called.
  var isFinished: Bool { finished.load(ordering: .relaxed) }  // it never changes back

  /// Whether a request waits. The answer may be out of date at once.
  var hasWaiters: Bool { waiters.load(ordering: .relaxed) > 0 }  // a count

  /// Acquires `units` if that many are free and no request waits. Returns whether it acquired them.
  @inline(never) func tryTake(_ units: Int) -> Bool { lock.withLock { takeLocked(units) } }

  /// Acquires `units` as ``tryTake(_:)`` does; throws if the task is cancelled. If it returns false, call `request`,
  /// then `outcome(of:)`.
  /// Not async: on this fast path, a call of an async function would cost more than the rest.
  @inline(never) func takeIfFree(_ units: Int) throws(CancellationError) -> Bool {
    if Task.isCancelled { throw CancellationError() }
    return tryTake(units)
  }

  /// Appends a request to the list of its level, or grants it at once; after `finish`, it fails with
  /// `SchedulerError.stopped`. The caller must call `outcome(of:)` once for each request.
  @inline(never) func request(_ units: Int, _ level: Level = .usual) -> Ticket {
    let ticket = Ticket(units, level)
    lock.withLock {
      if isFinished {
        ticket.outcome = .failure(SchedulerError.stopped)
      } else if takeLocked(units) {
        ticket.outcome = .success(())
      } else {
        appendLocked(ticket)
      }
    }
    return ticket
  }

  /// As `request`, but returns nil after `finish`.
  func requestUnlessFinished(_ units: Int, _ level: Level) -> Ticket? {
    let ticket = request(units, level)
    return hasFailed(ticket) ? nil : ticket
  }

  /// Whether the request has failed.
  @inline(never) private func hasFailed(_ ticket: Ticket) -> Bool {
    lock.withLock { if case .failure? = ticket.outcome { true } else { false } }
  }

  /// A request that is granted when `units` are free and no other request waits. It acquires nothing.
  @inline(never) func requestIdleness(_ units: Int) -> Ticket {
    let ticket = Ticket(units, .idle)
    lock.withLock {
      lists[Level.idle.rawValue].append(ticket)
      _ = grantLocked()  // at most this request, whose task is not suspended yet
    }
    return ticket
  }

  /// Lets all later requests fail. If `failsWaiters`, those that wait fail now.
  @inline(never) func finish(failsWaiters: Bool) {
    let failed: Ticket? = lock.withLock {
      finished.store(true, ordering: .relaxed)  // under the lock
      var failed: Ticket?
      while failsWaiters, let ticket = nextLocked(), ticket.level != .idle {
        removeLocked(ticket)
        ticket.outcome = .failure(SchedulerError.stopped)
        ticket.next = failed
        failed = ticket
      }
      return failed
    }
    failed?.resumeOutsideJobs()
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

  /// Returns whether the request has an outcome. If not, stores `continuation`, which is resumed once there is an
  /// outcome.
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

  /// As `outcome(of:isolation:)`, until `deadline` at the latest, if there is one. Then throws
  /// `SchedulerError.timeout`, or before it the error of the clock.
  func outcome(of ticket: Ticket, _ deadline: AnyDeadline?, isolation: isolated (any Actor)?) async throws {
    guard let deadline else { return try await outcome(of: ticket, isolation: isolation) }
    if deadline.hasPassed() { fail(ticket, SchedulerError.timeout) }  // at once; no effect if the request was granted
    let timer = deadline.start { self.fail(ticket, $0) }  // a task; it sleeps until the deadline
    defer { timer.cancel() }
    try await outcome(of: ticket, isolation: isolation)
  }

  /// Adds `units` to the free ones, and grants waiting requests. Returns false, without an effect, if more than
  /// Int32.max would be free. `isCancelled`: the user of the units did not do its work.
  @discardableResult @inline(never)
  func give(_ units: Int, isCancelled: Bool = false) -> Bool {
    var granted: Ticket?
    let fits = lock.withLock {
      let (sum, overflows) = free.addingReportingOverflow(units)
      if overflows || sum > Int(Int32.max) { return false }
      free = sum
      if isCancelled { cancelled += 1 } else { returned += 1 }
      granted = grantLocked()
      return true
    }
    granted?.resumeOutsideJobs()
    return fits
  }

  /// Ends a waiting request with `error`: removes it from the list, and resumes its task. Does nothing if the request
  /// has an outcome.
  @inline(never) private func fail(_ ticket: Ticket, _ error: any Error) {
    var granted: Ticket?
    lock.withLock {
      guard ticket.outcome == nil else { return }
      removeLocked(ticket)
      ticket.outcome = .failure(error)
      if ticket.level != .idle { cancelled += 1 }
      granted = grantLocked()  // later requests may need fewer units
      ticket.next = granted  // puts the failed request first in the list of tasks to resume
      granted = ticket
    }
    granted?.resumeOutsideJobs()
  }

  // MARK: Under the lock

  /// Acquires `units` if that many are free and no request waits. Returns whether it acquired them.
  private func takeLocked(_ units: Int) -> Bool {
    guard !hasWaiters, free >= units, !isFinished else { return false }  // waiting requests come first
    free -= units
    return true
  }

  /// Returns the request that is granted next: the oldest of the highest level, or of a lower level that was passed
  /// over too often.
  private func nextLocked() -> Ticket? {
    guard hasWaiters else { return lists[Level.idle.rawValue].first }
    var next: Ticket?
    var patience = 16  // how often the next lower level may be passed over
    for level in Level.high.rawValue...Level.low.rawValue {
      guard let first = lists[level].first else { continue }
      if next == nil {
        next = first
      } else if lists[level].passed >= patience {
        return first
      } else {
        patience *= 2
      }
    }
    return next
  }

  /// Grants waiting requests while units suffice. Returns the granted requests as a list; the caller resumes their
  /// tasks after unlocking.
  private func grantLocked() -> Ticket? {
    var granted: Ticket?
    unowned(unsafe) var newest: Ticket?  // the last request in the list `granted`
    while let ticket = nextLocked(), free >= ticket.units {
      removeLocked(ticket)
      if ticket.level != .idle {
        free -= ticket.units
        lists[ticket.level.rawValue].passed = 0
        for lower in ticket.level.rawValue + 1..<Level.idle.rawValue where lists[lower].first != nil {
          lists[lower].passed += 1
        }
      }
      ticket.outcome = .success(())
      if let newest { newest.next = ticket } else { granted = ticket }
      newest = ticket
    }
    return granted
  }

  private func appendLocked(_ ticket: Ticket) {
    lists[ticket.level.rawValue].append(ticket)
    waiters.add(1, ordering: .relaxed)  // a count
  }

  /// Unlinks `ticket` from its list. Requires: it waits.
  private func removeLocked(_ ticket: Ticket) {
    lists[ticket.level.rawValue].remove(ticket)
    if ticket.level != .idle { waiters.subtract(1, ordering: .relaxed) }  // a count
  }
}
