internal import CScheduler

/// A run of an action, or a wait, that has taken too long so far: see ``Schedulers/watch(longerThan:stackSignal:_:)``.
public struct WatchReport: Sendable {
  /// The kind of event.
  public enum Kind: Hashable, Sendable {
    /// An action has run for too long.
    case running
    /// The next action of a scheduler is due, and has waited for too long.
    case waiting
    /// A thread has waited for too long in a function of this module, or for a lock, condition, semaphore or latch.
    case blocked
    /// Threads wait in a circle, each for the next one: to unlock a lock, or to end an action, a `sync`, or its run.
    /// None of them continues.
    case deadlock
  }

  public let kind: Kind
  /// The duration so far; of a deadlock, the time since the circle closed.
  public let duration: Duration
  /// The system's number of the thread; 0 if an action waits.
  public let thread: UInt32
  /// The scheduler, as a dump shows it, with its address and name; or the function or object in which the thread waits.
  public let subject: String
  /// The running function or closure, if its name is known; otherwise its file and offset. Empty if no code runs.
  public let code: String
  /// How many actions wait on the scheduler.
  public let depth: UInt64
  /// Lines, each with a newline: a dump's lines for the thread, the scheduler, and the object that the thread waits
  /// for. For a deadlock they list each thread and its object. Then follow the calls of each thread, if `stackSignal`
  /// was given. May be empty.
  public let details: String
}

extension WatchReport: CustomStringConvertible {
  public var description: String {
    switch kind {
    case .running: "thread \(thread) has run \(code) of \(subject) for \(duration)"
    case .waiting: "the next of \(depth) actions on \(subject) has waited for \(duration)"
    case .blocked: "thread \(thread) has waited in \(subject) for \(duration)"
    case .deadlock: "thread \(thread) is in a deadlock for \(duration):\n\(details)"
    }
  }
}

extension Schedulers {
  /// Calls `report` for each action or wait that takes longer than `duration`: for running actions, for schedulers
  /// whose next action is due and waits, for waits in this module that block a thread, and for deadlocks. Each event is
  /// reported once, with a delay of at most a quarter of `duration`, and of 1 s at most. The delay for a deadlock is up
  /// to twice as long.
  ///
  /// ```swift
  /// try Schedulers.watch(longerThan: .milliseconds(250)) { report in log("\(report)\n\(report.details)") }
  /// try Schedulers.watch(longerThan: .milliseconds(250))   // writes to standard error, with the latest runs of each thread
  /// try Schedulers.watch(longerThan: .seconds(1), stackSignal: SIGPROF)   // with the stack of the thread
  /// ```
  ///
  /// The environment variable `SCHEDULER_WATCH=1s`, or `250ms`, begins a watch without a call.
  ///
  /// The watchdog observes actions that are submitted from now on, at a cost of about 200 ns each. A later call
  /// replaces this one. In a child of `fork` the watchdog is off. Thread: any but the one that reports.
  ///
  /// - Parameters:
  ///   - duration: the threshold; more than zero.
  ///   - stackSignal: a signal that the program does not use: best `SIGPROF`, because Dispatch's threads block most
  ///     others, and threads that they create inherit the mask. A handler of this signal, which stays installed, then
  ///     lists the calls of the reported thread. The system restarts a system call that the signal interrupts, except
  ///     `sleep`, `poll`, `epoll_wait` and others: these end early, with `EINTR`. `nil`: no stacks.
  ///   - report: called on its own thread, which holds no locks of this library. `nil`: the report is written to the
  ///     standard error, with the flight recorder's events (``writeRecord(to:)``).
  /// - Throws: ``SchedulerError/system(_:)`` with `EINVAL` for a duration that is not positive, or a signal that cannot
  ///   be handled; `EBUSY` if the signal has a handler; `ENOTSUP` if stacks cannot be read (musl, static programs);
  ///   `ENOMEM`; `EAGAIN` if no thread can be created.
  public static func watch(
    longerThan duration: Duration, stackSignal: Int32? = nil,
    _ report: (@Sendable (_ report: WatchReport) -> Void)? = nil
  ) throws(SchedulerError) {
    let span = csched_time(Swift.max(0, duration.saturatedNanoseconds))
    // For a duration of 0 `begin` throws. Then the signal must stay as it is. Signal 0: no stacks.
    let error = span == 0 ? 0 : csched_watch_stacks(stackSignal ?? 0)
    if error != 0 { throw SchedulerError.system(error) }
    try watching.begin(span, report)
  }

  /// Ends ``watch(longerThan:stackSignal:_:)``. After the return, no event is reported. If `report` calls it, no call
  /// follows. Thread: any.
  public static func stopWatching() { csched_watch_end() }

  private static let watching = Watching()  // the only one
}

/// Holds the closure of `Schedulers.watch`, which the C core's watchdog calls.
private final class Watching: Sendable {
  private let report = Protected<(@Sendable (WatchReport) -> Void)?>(nil).heldInForks()

  /// Starts the C core's watchdog in place of an earlier one. Without `report`, the watchdog writes its reports to the
  /// standard error.
  func begin(_ span: csched_time, _ report: (@Sendable (WatchReport) -> Void)?) throws(SchedulerError) {
    if span > 0 {  // else refused below: the earlier watch goes on
      csched_watch_end()  // the earlier watchdog must not call the new closure
      self.report.write(report)
    }
    let error = csched_watch_begin(span, report != nil ? forward : nil, Unmanaged.passUnretained(self).toOpaque())
    if error != 0 { throw SchedulerError.system(error) }
  }

  /// The C watchdog's callback: calls the stored closure. Its arguments: the `Watching`, and the C core's report.
  private let forward: @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<csched_watch_report>?) -> Void = {
    guard let context = $0, let found = $1?.pointee else { return }
    Unmanaged<Watching>.fromOpaque(context).takeUnretainedValue().report.read()?(WatchReport(found))
  }
}

extension WatchReport {
  /// Copies the C core's report, whose texts are valid during the callback only.
  fileprivate init(_ found: csched_watch_report) {
    let target = found.target_name.map { String(cString: $0) } ?? ""
    switch found.kind {
    case CSCHED_WATCHED_RUN: kind = .running
    case CSCHED_WATCHED_HEAD: kind = .waiting
    case CSCHED_WATCHED_DEADLOCK: kind = .deadlock
    default: kind = .blocked
    }
    duration = .nanoseconds(Int64(clamping: found.span))
    thread = found.thread
    subject = found.function.map { String(cString: $0) } ?? target
    code = found.code_name.map { String(cString: $0) } ?? ""
    depth = found.waiting
    details = String(cString: found.details)
  }
}
