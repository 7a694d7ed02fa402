internal import CScheduler

/// Something that has taken too long so far: see ``Schedulers/watch(longerThan:_:)``.
public struct WatchReport: Sendable {
  /// What it is.
  public enum Kind: Hashable, Sendable {
    /// An action runs.
    case running
    /// The next action of a scheduler waits, though its time has come.
    case waiting
    /// A thread waits in a function of this module, or for a lock, condition, semaphore or latch.
    case blocked
  }

  public let kind: Kind
  /// For how long, up to now.
  public let duration: Duration
  /// The system's number of the thread; 0 where an action waits.
  public let thread: UInt32
  /// What it is about: the scheduler, as a dump says it, with its address and name; or what the thread waits in.
  public let subject: String
  /// The function or closure that runs, where its name is known: else file and offset. Empty where none runs.
  public let code: String
  /// How many actions wait on that scheduler.
  public let depth: UInt64
}

extension WatchReport: CustomStringConvertible {
  public var description: String {
    switch kind {
    case .running: "thread \(thread) has run \(code) of \(subject) for \(duration)"
    case .waiting: "the next of \(depth) actions on \(subject) has waited for \(duration)"
    case .blocked: "thread \(thread) has waited in \(subject) for \(duration)"
    }
  }
}

extension Schedulers {
  /// Has `report` called for each action that runs for longer than `duration`, for each scheduler whose next action has waited for longer since its time
  /// came, and for each wait in this module that blocks a thread for longer: once, up to a quarter of `duration` later, and 1 s at the most.
  ///
  /// ```swift
  /// try Schedulers.watch(longerThan: .milliseconds(250)) { report in log("\(report)") }
  /// try Schedulers.watch(longerThan: .milliseconds(250))   // tells standard error, with what each thread has run last
  /// ```
  ///
  /// It sees actions that are submitted from now on, for about 200 ns each. A later call takes the place of this one. In a child of `fork` nobody
  /// watches. Any thread but the one that reports.
  ///
  /// - Parameters:
  ///   - duration: more than zero.
  ///   - report: is called on a thread of its own, which holds nothing of ours. `nil`: it is written to standard error, with the flight recorder's
  ///     events (``writeRecord(to:)``).
  /// - Throws: ``SchedulerError/system(_:)`` with `EINVAL` for a duration that is not positive, `ENOMEM`, or `EAGAIN` when there is no thread to be had.
  public static func watch(
    longerThan duration: Duration, _ report: (@Sendable (_ report: WatchReport) -> Void)? = nil
  ) throws(SchedulerError) {
    let span = csched_time(Swift.max(0, duration.saturatedNanoseconds))
    try watching.begin(span, report)
  }

  /// Ends ``watch(longerThan:_:)``: when it has returned, nothing is reported any more. Called by the report, that is the last. Any thread.
  public static func stopWatching() { csched_watch_end() }

  private static let watching = Watching()
}

/// Keeps the closure that the core's watchdog calls.
private final class Watching: Sendable {
  private let report = Protected<(@Sendable (WatchReport) -> Void)?>(nil)

  func begin(_ span: csched_time, _ report: (@Sendable (WatchReport) -> Void)?) throws(SchedulerError) {
    csched_watch_end()
    self.report.write(report)
    let error = csched_watch_begin(span, report != nil ? tell : nil, Unmanaged.passUnretained(self).toOpaque())
    if error != 0 { throw SchedulerError.system(error) }
  }

  private let tell: @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<csched_watch_report>?) -> Void = {
    guard let context = $0, let found = $1?.pointee else { return }
    Unmanaged<Watching>.fromOpaque(context).takeUnretainedValue().report.read()?(WatchReport(found))
  }
}

extension WatchReport {
  fileprivate init(_ found: csched_watch_report) {
    let target = found.target_name.map { String(cString: $0) } ?? ""
    switch found.kind {
    case CSCHED_WATCHED_RUN: kind = .running
    case CSCHED_WATCHED_HEAD: kind = .waiting
    default: kind = .blocked
    }
    duration = .nanoseconds(Int64(clamping: found.span))
    thread = found.thread
    subject = found.function.map { String(cString: $0) } ?? target
    code = found.code_name.map { String(cString: $0) } ?? ""
    depth = found.waiting
  }
}
